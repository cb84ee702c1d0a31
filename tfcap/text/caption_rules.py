"""Rules of the caption tokenizer.

The reference takes the longest token that any of its rules finds, and looks at
what follows. Here rules rewrite the text in an order, since TensorFlow's
regular expressions must do the same and look neither ahead nor for the longest
match. Therefore some glued forms fall apart differently; `caption_tokenize()`
names them.
"""

from typing import NamedTuple

from tfcap.text.caption_characters import DIGITS
from tfcap.text.caption_characters import OTHERS
from tfcap.text.caption_characters import SIGNS
from tfcap.text.caption_characters import UNMARKED
from tfcap.text.caption_characters import WORD_CHARACTERS

#: Digits above and below the line, and their signs.
_RAISED = "\u00b2\u00b3\u00b9\u2070\u2074-\u207b"
_LOWERED = "\u2080-\u208b"
_SLASH, _HYPHENS = "\u2044", "\u058a\u2010\u2011"
DOT, STRAIGHT, CURLY, GRAVE = "\ue000", "\ue001", "\ue002", "\ue003"
_SMILING = {"[": "\ue004", "]": "\ue005", "{": "\ue006"}

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
    # Last, for they are brackets again.
    **{stand_in: bracket for bracket, stand_in in _SMILING.items()},
}

#: Words that are two words.
PARTED = ("cannot", "gonna", "wanna", "gotta", "gimme", "lemme")

#: Tokens that the coco-caption scripts leave out.
DROPPED = (
    *("'", "''", '"', "`", "``", ".", "...", ",", ":", ";", "?", "!"),
    *("-", "--", "---", "----", *_HYPHENS),
)


# Shorthands of the patterns below: inside of classes, what is no curly quote,
# and what is no mark either.
_H = OTHERS
_HT = UNMARKED
# A letter, and a character of a word, of a word with hyphens, and a digit:
_L, _W, _T = f"[A-Za-z{_H}]", f"[A-Za-z0-9{_H}]", f"[A-Za-z0-9{_HT}]"
_D = f"[0-9{DIGITS}]"
# no letter, and no character of a word:
_M, _N = f"[^A-Za-z{_H}]", f"[^A-Za-z0-9{_H}]"
# what may stand before a word; an acronym; a word that no sign is glued to:
_S, _A = f"[^A-Za-z0-9{_H}.#@_-]", f"[^A-Za-z0-9{_H}._-]"
_B = f"(?:[^A-Za-z0-9{_H}._/!?#@-]|{_N}[._/!?-])"
# and what after the full stop of an abbreviation:
_E = f"[^A-Za-z{_H}-]|-{_N}"
# A letter that is written as an entity.
_ENTITY = "&[AEIOUaeiou](?i:acute|grave|uml);"

_ABBREVIATIONS = """
adj adm adv al ala alex apr ariz assn assoc asst atty aug ave bhd bldg blvd brig
bros calif capt cf cie cmdr co col colo comdr conn corp cos cpl ct dak dec dept
det dr drs elec ens esq est etc ext feb fla fri ft ga gen gov govs hon inc ind
insp intl invt jan jos jr jul jun kan kans ky lieut lt ltd maj mar md messrs mfg
mich minn mlle mme mo mon mont mr mrs ms msgr mt mtg natl neb nev nov oct okla
penn pfc ph plc ppte ppty pres prof profs pte ptes pty ptys pvt rd rep reps rev
rt sen sens sep sept seq sfc sgt spc sq sr st ste supt supts sys tel tenn thu
thurs treas tue tues univ va vs vt wed wis wisc wm wyo
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
    patterns = [
        # '57
        (f"{mark}([0-9][0-9] )", rf" {kept}\1"),
        # c'est, Cap'n
        (rf"({_S}(?i:c)){mark}((?i:est))", rf"\1{kept}\2 "),
        (rf"({_S}(?i:cap)){mark}((?i:n))", rf"\1{kept}\2 "),
        # ca n't, ca n'tell
        (
            rf"({_B}[A-Za-z]*?)((?i:n)){mark}((?i:t))({_M})",
            rf"\1 \2{STRAIGHT}\3 \4",
        ),
        (rf"({_B}[A-Za-z]*?)((?i:n)){mark}((?i:t))", rf"\1 \2{STRAIGHT}\3"),
        # 20 '' s, 4 ' 10 ''
        (f"{mark}{mark}", '"'),
        (rf"([0-9]){mark}([0-9]+\")", r"\1 ` \2"),
        # rock 'n' roll, it 's, she 'll
        (rf"{mark}((?i:n)){mark}", rf" {kept}\1{kept} "),
        # Twice, as in she 'd 've: a match takes what comes next with it.
        *[
            (
                rf"{mark}((?i:s|d|m|ll|re|ve))({_M})",
                rf" {STRAIGHT}\1 \2",
            )
        ]
        * 2,
    ]
    return [(mark, *rule) for rule in patterns]


def _within(mark, kept):
    """Rules for the apostrophe inside a word."""
    patterns = [
        # ma'am, but ma'am - x
        (
            rf"({_S}{_L}+[AEIOUYaeiouy]){mark}([aeiouA-Z]{_L}*)-?",
            rf"\1{kept}\2 ",
        ),
        # o'clock, chef-d'oeuvre, O'o, O'Brien, c'mon
        (rf"([^A-Za-z0-9{_H}.#@][DLOdlo]){mark}({_T}{_T})", rf"\1{kept}\2"),
        (rf"({_S}[Oo]){mark}([Oo])", rf"\1{kept}\2 "),
        (rf"({_S}[A-HJ-XZn]){mark}({_L}{_L})", rf"\1{kept}\2"),
        (
            rf"({_S}(?:c|s|li|e|ev|nor|[Nn]at)){mark}"
            rf"((?:mon|mores|l|er|ry|easter){_N})",
            rf"\1{kept}\2",
        ),
    ]
    return [(mark, *rule) for rule in patterns]


def _elisions(mark, kept):
    """Rules for the apostrophe at the ends of a word that is cut short."""
    # A straight quote may open a quotation, a curly one does not.
    after, end = ("[^A-Za-z]", " ") if kept == STRAIGHT else ("", "")
    patterns = [
        # grand 'm ère
        (rf"{mark}((?i:s|d|m|ll|re|ve))({after})", rf" {STRAIGHT}\1 \2"),
        # more 'n, give 'em, the '90s
        (rf"{mark}((?i:n))({end})", rf" {kept}\1 \2"),
        (rf"{mark}((?i:em|till?|cause)|[2-9]0[Ss])", rf" {kept}\1 "),
        # y' all, l' à, somethin'
        (rf"({_S}[Yy]){mark}({_L})", rf"\1{kept} \2"),
        (rf"({_S}[DJLdjl]){mark}", rf"\1{kept} "),
        (
            rf"({_S}(?i:somethin|ol|dunkin)){mark}([^DMSdms])",
            rf"\1{kept} \2",
        ),
    ]
    return [(mark, *rule) for rule in patterns]


def _parted(first, second):
    """Rule for one word that is two."""
    end = f"(?:[^A-Za-z0-9{_H}._/!?-]|[._/!?-]{_N})"
    return ("", rf"({_B}(?i:{first}))((?i:{second}){end})", r"\1 \2")


#: What stands before a quote, and what it is in a word of two.
_QUOTES = {
    "\u201c": ("", GRAVE * 2),
    "\u201d": ("", STRAIGHT * 2),
    "\u2018": ("", GRAVE),
    # The apostrophe of d'"eau" is part of the word before.
    "\u2019": ("[^DJLdjl]", STRAIGHT),
}
_PAIRS = [
    (one, f"({before}){one}{two}", rf"\1 {first}{second} ")
    for one, (before, first) in _QUOTES.items()
    for two, (_, second) in _QUOTES.items()
    if one != two or len(first) > 1
]
_CHARACTERS = [
    ("\u00ad", "\u00ad", ""),
    ("", "[\u2013-\u2015\u0096\u0097]", " -- "),
    ("", "[\u0093\u00ab]", "\u201c"),
    ("", "[\u0094\u00bb]", "\u201d"),
    ("", "[\u201b\u2039\u0091]", "\u2018"),
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
    ("", f"([{SIGNS}]|[{_RAISED}]+|[{_LOWERED}]+)", r" \1 "),
    # A slash that is in no fraction.
    (_SLASH, f"([^0-9]){_SLASH}", rf"\1 {_SLASH} "),
    (_SLASH, f"{_SLASH}([^0-9])", rf" {_SLASH} \1"),
    (
        "",
        f"[^!-~{WORD_CHARACTERS}{SIGNS}{_RAISED}{_LOWERED}"
        "\u2018\u2019\u201c\u201d]+",
        "  ",
    ),
    *_PAIRS,
    ("", "[\u201c\u201d]", '"'),
    ("\u2018", "\u2018", "`"),
    ("&", "&(?:amp|AMP);", "&"),
    ("&", "&lt;", " < "),
    ("&", "&gt;", " > "),
    ("&", "&quot;", ' " '),
    ("&", "&apos;", "'"),
    ("&", "&nbsp;", "  "),
    ("&", "&(?i:md|mdash|ndash);", " -- "),
    # A smile's brackets are not written in letters.
    *[
        (
            bracket,
            rf"([:;=]['*o-]?)\{bracket}([^A-Za-z0-9])",
            rf"\1{stand_in}\2",
        )
        for bracket, stand_in in _SMILING.items()
    ],
]

#: Endings of the names of files, which may begin with a number.
_FILES = """
bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov
mp3 pdf php pl png ppt ps py sql tar txt wav x xml zip
"""
_STOPS = [
    # 5.jpg, 10b.c
    (
        rf"([^A-Za-z0-9{_H}._/-][0-9]{_W}*)\.({_any_of(_FILES)})([ .?!,])",
        rf"\1{DOT}\2\3",
    ),
    # 5:30 p.m. and 10a . m.
    (r"([.:,][0-9]+)([A-Za-z]+\.)", r"\1 \2"),
    (rf"({_N}[0-9]+{_L}{_W}*)\.((?:[A-Za-z]\.)+)", r"\1 . \2"),
    # u.s., non-u.s. and ph.d.
    (rf"({_A}(?:[A-Za-z]\.)+[A-Za-z])\.({_E})", rf"\1{DOT} \2"),
    (rf"({_A}(?:[A-Za-z]\.)+[A-Za-z])\.-", rf"\1{DOT}-"),
    (r"([A-Za-z0-9]-(?:[A-Za-z]\.)+[A-Za-z])\.", rf"\1{DOT} "),
    (rf"({_S}(?i:ph|ed)\.(?i:d))\.", rf"\1{DOT} "),
    # no. 5, any word before a comma, not the initial before "The"
    (rf"({_S}(?:{_any_of(_BEFORE_NUMBERS)}))\.( *[0-9])", rf"\1{DOT} \2"),
    (f"([^A-Za-z0-9{_H}'\u2019]{_W}+)\\.([,:;])", rf"\1{DOT}\2"),
    (
        f"([^A-Za-z0-9{_H}.@#-]{_L})(\\. +"
        f"(?:{_any_of(_STARTERS, capital=True)}) )",
        r"\1 \2",
    ),
]

_ABBREVIATED = (
    f"([^A-Za-z0-9{_H}.!?&/@#_-](?:{_any_of(_ABBREVIATIONS)}|"
    f"{_any_of(_CAPITALIZED, capital=True)}|[A-Za-z]))\\.({_E})",
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
        ("", r"([:;=])(['*o-]?[()@[\]\\{|DOPdp][A-Za-z0-9])", r"\1 \2"),
    )
)

#: Pattern of a token, once the rules are through.
TOKEN = "|".join(
    [
        # -lrb-  <b>  &#39;  http://a.com  a.com/x.jpg  me@a.com  @home  #tag
        r"-(?i:[lr][rcs]b)-|&(?i:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);",
        r"<[!?][A-Za-z-][^>]*>|</[A-Za-z][A-Za-z0-9_:.-]* *>",
        r"<[A-Za-z][A-Za-z0-9_:.-]*(?: +[A-Za-z][A-Za-z0-9_:.-]*"
        r"(?: *= *(?:'[^']*'|\"[^\"]*\"))?)* */? *>",
        r"(?i:https?)://[^ \"<>|(){}]{1,99}\.[^ \"<>|(){}]*[^ \"<>|(){}.,!?-]",
        rf"{_L}{_W}*(?:\.{_L}{_W}*)*\.(?:com|net|org|edu)/[^ \"<>|(){{}}]+"
        r"[^ \"<>|(){}.,!?-]",
        r"<?[A-Za-z0-9][^ \"<>|(){}@]{0,63}@"
        r"(?:[^ \"<>|(){}.]{1,63}\.){0,9}[^ \"<>|(){}.]{1,63}>?",
        rf"@[A-Za-z_][A-Za-z0-9_]*|#{_L}+",
        # :-)  ^_^
        rf"[<>]?[:;=]['*o-]?[()@\\|DOPdp{''.join(_SMILING.values())}]",
        r"['<=>^~-]_['<=>^~-]",
        # (555) 555-5555  22 3/4  his/her
        r"\([0-9]{2,3}\) {0,2}[0-9]{3,4}(?:-| {0,2})[0-9]{3,5}",
        rf"{_D}{{1,4}}(?:-| +){_D}{{1,4}}(?:\\?/|{_SLASH}){_D}{{1,4}}",
        r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
        r"(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2}",
        rf"{_D}{{1,4}}[/{_SLASH}]{_D}{{1,4}}",
        # non-U.S.  half-eaten_x  sofa,t-shirt  pro-
        rf"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*-(?:[A-Za-z]\.)+[A-Za-z]{DOT}",
        rf"{_T}+(?:[-_{_HYPHENS}]{_T}+)+",
        rf"[A-Za-z0-9][A-Za-z0-9.,{DOT}]{{0,99}}(?:-[A-Za-z0-9]+)+",
        r"(?i:pro|anti)-",
        # caf&eacute;  street.a  wal!king  AT&T  C++
        rf"(?:{_L}{_W}*)?(?:{_ENTITY}{_W}*)+",
        rf"{_L}{_W}*(?:[.!?]{_L}{_W}*)+",
        rf"[A-Z]+(?:[&+][A-Z]+)+{DOT}?",
        r"[Cc]\+\+|[CFcf]#|[A-Z]+\$",
        # 5:30  -2.5  4x4
        rf"[+-]?{_D}*(?:[.:,]{_D}+)+",
        rf"[0-9]*{_L}{_W}*",
        r"[+-]?[0-9]+",
        r"[!?]+|\*+|#+|@+|_+|-+|<<|>>|\.\.\.|''|``|[^ ]",
    ]
)
