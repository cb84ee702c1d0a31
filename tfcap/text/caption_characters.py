"""Classes of characters of the caption tokenizer, for regular expressions.

What the reference tokenizer takes each character outside ASCII for was found by
asking it about every character of the basic plane. What is named nowhere here
separates words and is lost, as are emoji.
"""

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

#: Signs that are tokens of their own.
_SIGN = """
a1 a5-a9 ac ae-b1 b4 b6-b8 bf d7 f7 37e 387 589 5be 5c0 5c3 5c6 5f3-603 606-60c
614 61b 61e-61f 66a 66d 6d4 700-70d 7f6-7f8 964-965 e3f e4f 1fbd 2016-2017 201a
201e-2023 2030-2038 203b 203e-2042 207c-207e 208c-208e 20a4 2100-2101
2103-2106 2108-2109 2114 2116-2118 211e-2123 2125 2127 2129 212e 213a-213b
2140-2144 214a-214d 214f 2155-215e 2190-2bff 3001-3002 3012 30fb ff01-ff0f
ff1a-ff20 ff3b-ff40 ff5b-ff65 ffe0-ffe1 ffe5-ffe6
"""
#: Marks, which words hold, but no words with a hyphen.
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
    """Inside of a regular expression's character class."""
    spans = (item.split("-") for item in table.split())
    points = ([chr(int(code, 16)) for code in span] for span in spans)
    return "".join("-".join(span) for span in points)


def _others(table):
    """The rest of all but ASCII, inside of a character class."""
    ends = [item.split("-") for item in table.split()]
    starts = ["\u0080", *(chr(int(span[-1], 16) + 1) for span in ends)]
    stops = [*(chr(int(span[0], 16) - 1) for span in ends), "\uffff"]
    return "".join(f"{a}-{b}" for a, b in zip(starts, stops) if a <= b)


WORD_CHARACTERS = _members(_WORD)
SIGNS = _members(_SIGN)
DIGITS = _members(_DIGITS)
#: All but ASCII and a curly quote, and of these what is no mark or hyphen.
OTHERS = _others("2019")
UNMARKED = _others(f"{_MARK} 2010-2011 2019")
