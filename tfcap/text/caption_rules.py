"""Rules of the caption tokenizer.

The reference, PTBTokenizer, takes the longest token that any of its rules
matches, and looks ahead. Here, rules rewrite the text in a fixed order, because
TensorFlow's regular expressions, which must do the same, have neither lookahead
nor longest match. Some words joined by signs are therefore split differently;
`caption_tokenize()` lists them.
"""

from typing import NamedTuple

#: Parts of words: letters, digits and marks, as ranges of code points.
_WORD = """
aa b5 ba c0-d6 d8-f6 f8-37d 384-386 388-481 483-487 48a-527 531-55f 561-587 58a
591-5bd 5bf 5c1-5c2 5c4-5c5 5c7-5ea 5f0-5f2 615-61a 620-65e 660-669 66e-6d3
6d5-6ff 70f-7f5 7fa 800-815 81a 824 828 840-858 8a0 8a2-8ac 900-939 93c-94e
950-955 958-963 966-96f 971-977 979-97f 981-9f1 a01-a4f a59-a6f a72-a74 a81-ae1
ae6-aef b05-b39 b3d b5c-b61 b66-b6f b71 b82-bd0 be6-bef c01-c03 c05-c33 c35-c39
c3d-c59 c60-c61 c66-c6f c85-cb9 cbd cde-ce1 ce6-cf2 d05-d3a d3d-d48 d4e d60-d61
d66-d6f d7a-d7f d85-dc6 e01-e3a e40-e4e e50-e59 e81-e84 e87-e88 e8a e8d e94-e97
e99-e9f ea1-ea7 eaa-eab ead-f00 f20-f29 f40-f6c f88-f8c 1000-102a 103f-1049
1050-1055 105a-105d 1061 1065-1066 106e-1070 1075-1081 108e 1090-1099 10a0-10fa
10fc-135a 1380-138f 13a0-13f4 1401-166c 166f-167f 1681-169a 16a0-16ea 1700-170c
170e-1711 1720-1731 1740-1751 1760-1770 1780-17b3 17d7 17dc 17e0-17e9 1810-1877
1880-18a8 18aa-191c 1946-19ab 19c1-19c7 19d0-19d9 1a00-1a16 1a20-1a54 1a80-1a99
1aa7 1b05-1b33 1b45-1b4b 1b50-1b59 1b83-1ba0 1bae-1be5 1c00-1c23 1c40-1c7d
1ce9-1cec 1cee-1cf1 1cf5-1cf6 1d00-1dbf 1e00-1fbc 1fbe 1fc2-1fcc 1fd0-1fdb
1fe0-1fec 1ff2-1ffc 2010-2011 2044 2071 207f 2090-209c 2102 2107 210a-2113 2115
2119-211d 2124 2126 2128 212a-212d 212f-2139 213c-213f 2145-2149 214e 2183-2184
2c00-2c2e 2c30-2c5e 2c60-2ce4 2ceb-2cee 2cf2-2cf3 2d00-2d6f 2d80-2dde 2e2f
3005-3006 3031-3035 303b-303c 3041-3096 309d-309f 30a1-30fa 30fc-312d 3131-318e
31a0-31ba 31f0-31ff 3400-4db5 4e00-9fcc a000-a48c a4d0-a4fd a500-a60c a610-a66e
a67f-a697 a6a0-a6e5 a717-a71f a722-a788 a78b-a78e a790-a793 a7a0-a7aa a7f8-a801
a803-a805 a807-a80a a80c-a822 a840-a873 a882-a8b3 a8d0-a8d9 a8f2-a8f7 a8fb
a900-a925 a930-a946 a960-a97c a984-a9b2 a9cf-a9d9 aa00-aa28 aa40-aa42 aa44-aa4b
aa50-aa59 aa60-aa76 aa7a aa80-aaaf aab1 aab5-aab6 aab9-aabd aac0 aac2-aadd
aae0-aaea aaf2-aaf4 ab01-ab2e abc0-abe2 abf0-d7fb f900-fb1d fb1f-fb28 fb2a-fbb1
fbd3-fd3d fd50-fdc7 fdf0-fdfb fe70-fefc ff10-ff19 ff21-ff3a ff41-ff5a ff66-ffdc
"""

#: Signs that are separate tokens.
_SIGN = """
a1 a5-a9 ac ae-b1 b4 b6-b8 bf d7 f7 37e 387 589 5be 5c0 5c3 5c6 5f3-603 606-60c
614 61b 61e-61f 66a 66d 6d4 700-70d 7f6-7f8 964-965 e3f e4f 1fbd 2016-2017 201a
201e-2023 2030-2038 203b 203e-2042 207c-207e 208c-208e 20a4 2100-2101
2103-2106 2108-2109 2114 2116-2118 211e-2123 2125 2127 2129 212e 213a-213b
2140-2144 214a-214d 214f 2155-215e 2190-2bff 3001-3002 3012 30fb ff01-ff0f
ff1a-ff20 ff3b-ff40 ff5b-ff65 ffe0-ffe1 ffe5-ffe6
"""
#: Marks, which occur in words, but not in hyphenated ones.
_MARK = """
2c2-2c5 2d2-2df 2e5-2eb 2ed 2ef-36f 375 378-379 384-385 3f6 483-487 55a-55f
591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 615-61a 64b-65e 670 6d6-6e4 6e7-6ed 6fd-6fe 70f
711 730-74c 7a6-7b0 7eb-7f3 900-903 93c 93e-94e 951-955 962-963 981-983 9bc
9be-9c4 9c7-9c8 9cb-9cd 9d7 9e2-9e3 a01-a03 a3c a3e-a4f a81-a83 abc abe-acf b82
bbe-bc2 bc6-bc8 bca-bcd c01-c03 c3e-c56 d3e-d44 d46-d48 e31 e34-e3a e47-e4e eb1
eb4-ebc ec8-ecd
"""
_DIGITS = "660-669 6f0-6f9 966-96f 9e6-9ef a66-a6f ae6-aef e50-e59 ff10-ff19"


def _members(table):
    """Content of a regular expression's character class."""
    spans = (item.split("-") for item in table.split())
    points = ([chr(int(code, 16)) for code in span] for span in spans)
    return "".join("-".join(span) for span in points)


def _others(table):
    """All other non-ASCII characters, as content of a character class."""
    ends = [item.split("-") for item in table.split()]
    starts = ["\u0080", *(chr(int(span[-1], 16) + 1) for span in ends)]
    stops = [*(chr(int(span[0], 16) - 1) for span in ends), "\uffff"]
    return "".join(f"{a}-{b}" for a, b in zip(starts, stops) if a <= b)


WORD_CHARACTERS = _members(_WORD)
SIGNS = _members(_SIGN)


#: Superscript and subscript digits, and their signs.
_RAISED = "\u00b2\u00b3\u00b9\u2070\u2074-\u207b"
_LOWERED = "\u2080-\u208b"
_SLASH, _HYPHENS = "\u2044", "\u058a\u2010\u2011"
DOT, STRAIGHT, CURLY, GRAVE = "\ue000", "\ue001", "\ue002", "\ue003"
_SMILING = {"[": "\ue004", "]": "\ue005", "{": "\ue006"}

#: What the stand-ins are replaced by, and how brackets are written.
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
    # Last, because these become brackets again.
    **{stand_in: bracket for bracket, stand_in in _SMILING.items()},
}

#: Words that are split in two.
PARTED = ("cannot", "gonna", "wanna", "gotta", "gimme", "lemme")

#: Tokens that the coco-caption scripts remove.
DROPPED = (
    *("'", "''", '"', "`", "``", ".", "...", ",", ":", ";", "?", "!"),
    *("-", "--", "---", "----", *_HYPHENS),
)


# Shorthands for the patterns below. In character classes: non-ASCII characters
# other than a curly quote, and these without marks and hyphens.
_H = _others("2019")
_HT = _others(f"{_MARK} 2010-2011 2019")
# A letter, and a character of a word, of a word with hyphens, and a digit:
_L, _W, _T = f"[A-Za-z{_H}]", f"[A-Za-z0-9{_H}]", f"[A-Za-z0-9{_HT}]"
_D = f"[0-9{_members(_DIGITS)}]"
# no letter, and no character of a word:
_M, _N = f"[^A-Za-z{_H}]", f"[^A-Za-z0-9{_H}]"
# what may stand before a word; an acronym; a word that no sign is glued to:
_S, _A = f"[^A-Za-z0-9{_H}.#@_-]", f"[^A-Za-z0-9{_H}._-]"
_B = f"(?:[^A-Za-z0-9{_H}._/!?#@-]|{_N}[._/!?-])"
# and what may follow the full stop of an abbreviation:
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
#: Words that may keep a full stop.
ABBREVIATIONS = frozenset(f"{_ABBREVIATIONS} {_CAPITALIZED}".split())
_BEFORE_NUMBERS = "art ca fig figs no nos op pp prop"
#: Words that begin a sentence after an initial.
_STARTERS = """
a about according after an as at but earlier he her here however if in it last
many more now once one other our she since so some such that the their then
there these they this we what when while yet you
"""


class Rule(NamedTuple):
    """A pattern and its replacement.

    Attributes:
        needs: String that every match contains; empty if there is none.
        pattern: String, regular expression.
        rewrite: String, with `\1` for the first group.
    """

    needs: str
    pattern: str
    rewrite: str


def _any_of(words, capital=False):
    """Pattern that matches any of some words, in any case or capitalized."""
    first = str.upper if capital else (lambda letter: f"(?i:{letter})")
    return "|".join(
        f"{first(word[0])}(?i:{word[1:]})" if word[1:] else first(word)
        for word in sorted(words.split(), key=lambda word: (-len(word), word))
    )


def _contractions(mark, kept):
    """Rules for endings that an apostrophe separates from their word."""
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
        # Twice, for she 'd 've: a match consumes the character after it.
        *[(rf"{mark}((?i:s|d|m|ll|re|ve))({_M})", rf" {STRAIGHT}\1 \2")] * 2,
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
    """Rules for the apostrophe at either end of an elided word."""
    # A straight quote may open a quotation; a curly one does not.
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
        (rf"({_S}(?i:somethin|ol|dunkin)){mark}([^DMSdms])", rf"\1{kept} \2"),
    ]
    return [(mark, *rule) for rule in patterns]


def _parted(first, second):
    """Rule for a word that is split in two."""
    end = f"(?:[^A-Za-z0-9{_H}._/!?-]|[._/!?-]{_N})"
    return ("", rf"({_B}(?i:{first}))((?i:{second}){end})", r"\1 \2")


#: What may precede a quote, and its replacement in a pair of two quotes.
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
    # A slash outside a fraction.
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
    # Brackets of emoticons are not replaced by letters.
    *[
        (
            bracket,
            rf"([:;=]['*o-]?)\{bracket}([^A-Za-z0-9])",
            rf"\1{stand_in}\2",
        )
        for bracket, stand_in in _SMILING.items()
    ],
]

#: Extensions of file names, which may begin with a number.
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

#: Rules, in the order in which they are applied.
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
        # car:pet contains no emoticon
        ("", r"([:;=])(['*o-]?[()@[\]\\{|DOPdp][A-Za-z0-9])", r"\1 \2"),
    )
)

#: Pattern of a token, after all rules are applied.
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
