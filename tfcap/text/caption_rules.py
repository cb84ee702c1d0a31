"""How a caption is rewritten until its tokens can be read off.

The patterns stay within what Python's `re` and RE2 both know (no look-around),
so that the host and a TensorFlow graph follow one set of rules. They run on
text between two spaces, whose white space is two spaces too: a rule may then
take the space before and after a word without taking its neighbor's.

A full stop or an apostrophe that is part of its word is exchanged for a stand-
in, a character that no input has by then and that counts as a letter.
"""

from typing import NamedTuple

from tfcap.text.caption_characters import SIGNS
from tfcap.text.caption_characters import WORD_CHARACTERS

DOT, STRAIGHT, CURLY, GRAVE = "\ue000", "\ue001", "\ue002", "\ue003"

#: What the stand-ins stood for, and how brackets are written.
RESTORED = {
    DOT: ".",
    STRAIGHT: "'",
    CURLY: "\u2019",
    GRAVE: "`",
    "(": "-lrb-",
    ")": "-rrb-",
    "[": "-lsb-",
    "]": "-rsb-",
    "{": "-lcb-",
    "}": "-rcb-",
}

#: Words that are two words.
PARTED = ("cannot", "gonna", "wanna", "gotta", "gimme", "lemme")

#: Tokens that the coco-caption scripts leave out.
DROPPED = (
    *("'", "''", '"', "`", "``", ".", "...", ",", ":", ";", "?", "!"),
    *("-", "--", "---", "----"),
)

# Shorthands of the patterns below. A letter, and a character of a word:
_L, _W = "[A-Za-z\u0080-\uffff]", "[A-Za-z0-9\u0080-\uffff]"
# no letter, and no character of a word:
_M, _N = "[^A-Za-z\u0080-\uffff]", "[^A-Za-z0-9\u0080-\uffff]"
# what may stand before a word; an acronym; a word that no sign is glued to:
_S, _A = "[^A-Za-z0-9\u0080-\uffff_-]", "[^A-Za-z0-9\u0080-\uffff._-]"
_B = f"(?:[^A-Za-z0-9\u0080-\uffff._/!?-]|{_N}[._/!?-])"
# and what after the full stop of an abbreviation:
_E = f"[^A-Za-z\u0080-\uffff-]|-{_N}"

_ABBREVIATIONS = """
adj adm adv al ala alex apr ariz assn assoc asst atty aug ave bhd bldg blvd brig
bros calif capt cf cie cmdr co col colo comdr conn corp cos cpl ct dak dec dept
det dr drs elec ens esq est etc ext feb fla fri ft ga gen gov govs hon inc ind
insp intl invt jan jos jr jul jun kan kans ky lieut lt ltd maj mar md messrs mfg
mich minn mlle mme mo mon mont mr mrs ms msgr mt mtg natl neb nev nov oct okla
penn pfc ph plc ppte ppty pres prof profs pte ptes pty ptys pvt rd rep reps rev
rt sen sens sep sept seq sfc sgt spc sq sr st ste supt supts sys tel tenn thu
thurs tue tues univ va vs vt wed wis wisc wm wyo
"""
_CAPITALIZED = "ark az del ill la mass miss ore pa tex wash"
#: What may keep a full stop.
ABBREVIATIONS = frozenset(f"{_ABBREVIATIONS} {_CAPITALIZED}".split())
_BEFORE_NUMBERS = "art ca fig figs no nos op pp prop"
#: After an initial, a word that begins a sentence.
_STARTERS = """
a about according after an as at but earlier he her here however if in it last
many more now once one other our she since so some such that the their then
there these they this we what when while yet you
"""


class Rule(NamedTuple):
    """Something to look for, and what to write in its place.

    Attributes:
        needs: String without which the pattern cannot be in a text; empty
            where there is none.
        pattern: String, regular expression.
        rewrite: String, with `\1` for the first group.
    """

    needs: str
    pattern: str
    rewrite: str


def _any_of(words, capital=False):
    """Pattern of one of some words, in any case, or with a capital letter."""
    first = str.upper if capital else (lambda letter: f"(?i:{letter})")
    return "|".join(
        f"{first(word[0])}(?i:{word[1:]})" if word[1:] else first(word)
        for word in sorted(words.split(), key=lambda word: (-len(word), word))
    )


def _contractions(mark, kept):
    """Rules for what an apostrophe parts from the word before."""
    found = [
        # ca n't, ca n'tell
        (
            rf"({_B}[A-Za-z]*?)((?i:n)){mark}((?i:t))({_M})",
            rf"\1 \2{STRAIGHT}\3 \4",
        ),
        (rf"({_B}[A-Za-z]*?)((?i:n)){mark}((?i:t))", rf"\1 \2{STRAIGHT}\3"),
        # 20 '' s, 4 ' 10 ''
        (f"{mark}{mark}", ' " '),
        (rf"([0-9]){mark}([0-9]+\")", r"\1 ` \2"),
        # rock 'n' roll, it 's, she 'll
        (rf"{mark}((?i:n)){mark}", rf" {kept}\1{kept} "),
        (rf"{mark}((?i:s|d|m|ll|re|ve))({_M})", rf" {STRAIGHT}\1 \2"),
    ]
    return [(mark, *rule) for rule in found]


def _within(mark, kept):
    """Rules for the apostrophe inside a word."""
    found = [
        # ma'am, but ma'am - x
        (
            rf"({_S}{_L}+[AEIOUYaeiouy]){mark}([aeiouA-Z]{_L}*)-?",
            rf"\1{kept}\2 ",
        ),
        # o'clock, O'Brien, c'mon
        (rf"({_S}[DLOdlo]){mark}({_W}{_W})", rf"\1{kept}\2"),
        (rf"({_S}[A-HJ-XZn]){mark}({_L}{_L})", rf"\1{kept}\2"),
        (
            rf"({_S}(?:c|s|li|e|ev|nor|[Nn]at)){mark}"
            rf"((?:mon|mores|l|er|ry|easter){_N})",
            rf"\1{kept}\2",
        ),
    ]
    return [(mark, *rule) for rule in found]


def _elisions(mark, kept):
    """Rules for the apostrophe at the ends of a word that is cut short."""
    found = [
        # more 'n, give 'em, the '90s
        (rf"{mark}((?i:n))({_N})", rf" {kept}\1 \2"),
        (rf"{mark}((?i:em|till?|cause)|[2-9]0[Ss])", rf" {kept}\1 "),
        (
            f"{mark}([0-9][0-9])([^A-Za-z0-9\u0080-\uffff-])",
            rf" {kept}\1\2",
        ),
        # y' all, somethin'
        (rf"({_S}[JYjy]){mark}({_W})", rf"\1{kept} \2"),
        (
            rf"({_S}(?:[DJLdjl]|(?i:somethin|ol)|Dunkin)){mark}({_N})",
            rf"\1{kept} \2",
        ),
    ]
    return [(mark, *rule) for rule in found]


def _parted(first, second):
    """Rule for one word that is two."""
    end = f"(?:[^A-Za-z0-9\u0080-\uffff._/!?-]|[._/!?-]{_N})"
    return ("", rf"({_B}(?i:{first}))((?i:{second}){end})", r"\1 \2")


_CHARACTERS = [
    ("\u00ad", "\u00ad", ""),
    ("", "[\u2013-\u2015\u0096\u0097]", " -- "),
    ("", "[\u201c\u201d\u0093\u0094\u00ab\u00bb]", ' " '),
    ("", "[\u2018\u201b\u2039\u0091]", "`"),
    ("", "[\u0092\u203a]", "\u2019"),
    ("", "[\u2026\u0085]", " ... "),
    ("", "[\u20ac\u20a0\u00a4\u0080]", " $ "),
    ("\u00a2", "\u00a2", " cents "),
    ("\u00a3", "\u00a3", " # "),
    ("\u00bc", "\u00bc", " 1/4 "),
    ("\u00bd", "\u00bd", " 1/2 "),
    ("\u00be", "\u00be", " 3/4 "),
    ("\u2153", "\u2153", " 1/3 "),
    ("\u2154", "\u2154", " 2/3 "),
    ("", f"([{SIGNS}])", r" \1 "),
    ("", f"[^!-~{WORD_CHARACTERS}{SIGNS}\u2019]+", "  "),
    ("&", "&(?:amp|AMP);", "&"),
    ("&", "&lt;", " < "),
    ("&", "&gt;", " > "),
    ("&", "&quot;", ' " '),
    ("&", "&apos;", "'"),
    ("&", "&nbsp;", "  "),
]

_STOPS = [
    # u.s. and ph.d.
    (f"({_A}(?:{_L}\\.)+{_L})\\.({_E})", rf"\1{DOT} \2"),
    (f"({_A}(?:{_L}\\.)+{_L})\\.-", rf"\1{DOT}-"),
    (rf"({_S}(?i:ph)\.(?i:d))\.", rf"\1{DOT} "),
    # no. 5, any word before a comma, not the initial before "The"
    (rf"({_S}(?:{_any_of(_BEFORE_NUMBERS)}))\.( *[0-9])", rf"\1{DOT} \2"),
    (f"([^A-Za-z0-9\u0080-\uffff'\u2019]{_W}+)\\.([,:;])", rf"\1{DOT}\2"),
    (
        f"([^A-Za-z0-9\u0080-\uffff.@#-]{_L})(\\. +"
        f"(?:{_any_of(_STARTERS, capital=True)}) )",
        r"\1 \2",
    ),
]

_ABBREVIATED = (
    f"([^A-Za-z0-9\u0080-\uffff.!?/@#_-](?:{_any_of(_ABBREVIATIONS)}|"
    f"{_any_of(_CAPITALIZED, capital=True)}|{_L}))\\.({_E})",
    rf"\1{DOT} \2",
)

#: Rules in the order in which they are followed.
RULES = tuple(
    Rule(*rule)
    for rule in (
        *_CHARACTERS,
        *[(".", *stop) for stop in _STOPS],
        *_contractions("'", STRAIGHT),
        *_contractions("\u2019", CURLY),
        ("`", f"({_B}[A-Za-z]*?)([Nn])`([Tt])", rf"\1 \2{GRAVE}\3"),
        *_within("'", STRAIGHT),
        *_within("\u2019", CURLY),
        *_within("`", GRAVE),
        # 't is, 't was
        ("'", "'((?i:t))((?i:is|was))", rf" {STRAIGHT}\1 \2"),
        *_elisions("'", STRAIGHT),
        *_elisions("\u2019", CURLY),
        ("\u2019", "\u2019", " ' "),
        (".", *_ABBREVIATED),
        _parted("can", "not"),
        _parted("gon|wan", "na"),
        _parted("got", "ta"),
        _parted("gim|lem", "me"),
        # car:pet has no smile
        ("", f"([:;=])(['*Oo-]?[()@[\\]\\\\{{|DOPdp]{_W})", r"\1 \2"),
    )
)

#: Pattern of a token, once the rules are through.
TOKEN = "|".join(
    [
        # <b>  http://a.com  a.com/x.jpg  me@a.com  @home  #tag
        r"<[/!?]?[A-Za-z][^<>]*>",
        r"(?i:https?)://[^ \"<>|(){}]{1,99}\.[^ \"<>|(){}]*[^ \"<>|(){}.,:;!?]",
        rf"{_L}{_W}*(?:\.{_L}{_W}*)*\.(?:com|net|org|edu)/[^ \"<>|(){{}}]+"
        r"[^ \"<>|(){}.,:;!?]",
        r"[A-Za-z0-9][^ \"<>|(){}@]{0,63}@"
        r"(?:[^ \"<>|(){}.]{1,63}\.){0,9}[^ \"<>|(){}.]{1,63}",
        rf"@[A-Za-z_][A-Za-z0-9_]*|#{_L}+",
        # :-)  ^_^
        r"[<>]?[:;=]['*Oo-]?[()@[\]\\{|DOPdp]",
        r"['<=>^~-]_['<=>^~-]",
        # (555) 555-5555  22 3/4  his/her  half-eaten  sofa,t-shirt  x_y
        r"\([0-9]{2,3}\) *[0-9]{3,4}[ -]*[0-9]{3,5}",
        r"[0-9]{1,4}(?:-| +)[0-9]{1,4}/[0-9]{1,4}",
        rf"{_W}+(?:-{_L}+){{0,2}}(?:/{_W}+(?:-{_L}+){{0,2}}){{1,2}}",
        rf"{_W}(?:{_W}|[.,]){{0,99}}(?:-{_W}+)+(?:_{_W}+)*",
        rf"{_W}+(?:_{_W}+)+",
        # street.a  wal!king  AT&T  C++
        rf"{_L}{_W}*(?:[.!?]{_L}{_W}*)+",
        r"[A-Z]+(?:[&+][A-Z]+)+|[Cc]\+\+|[CFcf]#|[A-Z]{1,2}\$",
        # 5:30  -2.5  4x4
        r"[+-]?[0-9]*(?:[.:,][0-9]+)+",
        rf"[0-9]*{_L}{_W}*",
        r"[+-]?[0-9]+",
        r"[!?]+|\*+|#+|@+|_+|-+|<<|>>|\.\.\.|''|``|[^ ]",
    ]
)
