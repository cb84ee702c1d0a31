"""Tricky captions, and the words that Stanford's PTBTokenizer reads in them.

The answers are those of CoreNLP 3.4.1 with `-preserveLines -lowerCase`, every
caption alone, punctuation left out as the coco-caption scripts do.
"""

#: Words of each caption, joined by spaces.
GOLDEN = {
    "A man rides a horse.": "a man rides a horse",
    "Two dogs, a cat and three birds .": "two dogs a cat and three birds",
    "A game for the Wii U.": "a game for the wii u.",
    "He can'tell what it is": "he ca n'tell what it is",
    "DON'T WALK": "do n't walk",
    "A DON'T-WALK sign": "a do n't walk sign",
    "She cannot swim. CANNOT! cannot, (cannot)": (
        "she can not swim can not can not -lrb- can not -rrb-"
    ),
    "They're gonna wanna see, gotta go, gimme that, lemme in": (
        "they 're gon na wan na see got ta go gim me that lem me in"
    ),
    "'Tis the season, 'twas the night": "'t is the season 't was the night",
    "A rock'n'roll band plays rock 'n' roll near the fish'n chips stand": (
        "a rock 'n' roll band plays rock 'n' roll near the fish 'n chips stand"
    ),
    "Give 'em a '57 car from the '50s and the 1950's": (
        "give 'em a '57 car from the '50s and the 1950 's"
    ),
    "Half-eaten, home-made well-lit_room x_y": (
        "half-eaten home-made well-lit_room x_y"
    ),
    "The score is 3-2, 10-12 or 21:15": "the score is 3-2 10-12 or 21:15",
    "On 10-29-2011, 10/29/11 and 2011-10-29": (
        "on 10-29-2011 10/29/11 and 2011-10-29"
    ),
    "22 3/4 St. and 1/2 of 3 1/2 pizzas": "22 3/4 st. and 1/2 of 3 1/2 pizzas",
    "It costs $5.50, US$5, 5 cents, 50% or 1,000,000": (
        "it costs $ 5.50 us$ 5 5 cents 50 % or 1,000,000"
    ),
    "Temperatures of -5 to +5 and .5 or 0.5": (
        "temperatures of -5 to +5 and .5 or 0.5"
    ),
    "A 5'4\" man beside a 6\" sub and a 5'x6' rug": (
        "a 5 4 man beside a 6 sub and a 5 x6 rug"
    ),
    "He was no. 5, No. 12 and said no.": "he was no. 5 no. 12 and said no",
    "A T.V. on a T.V stand near the U.S. flag, i.e. the U.S.A.": (
        "a t.v. on a t.v stand near the u.s. flag i.e. the u.s.a."
    ),
    "A girl on a swing, a boy in a can.; and a cat on a can., too": (
        "a girl on a swing a boy in a can. and a cat on a can. too"
    ),
    "A wall with the letter K. A man walks by": (
        "a wall with the letter k a man walks by"
    ),
    "A vitamin C. The bottle": "a vitamin c the bottle",
    "Look!There is a cat?yes": "look!there is a cat?yes",
    "A sofa,t-shirt and table": "a sofa,t-shirt and table",
    "An AT&T store, M&M's, r&b, R&B and black&white photo": (
        "an at&t store m&m 's r & b r&b and black & white photo"
    ),
    "A C++ book, a c# sign, A+ work": "a c++ book a c# sign a + work",
    "A ``quoted'' 'No Parking' sign": "a quoted no parking sign",
    "An 'empty' room and 'till' drawers": "an 'em pty room and 'till drawers",
    "A man at (the) bus [stop] {now} <b>bold</b> <unk>": (
        "a man at -lrb- the -rrb- bus -lsb- stop -rsb- -lcb- now -rcb- "
        "<b> bold </b> <unk>"
    ),
    "Smile :) or :-( or =D or <3 but not car:pet": (
        "smile :-rrb- or :--lrb- or =d or < 3 but not car pet"
    ),
    "Follow #cats and @cat_lover5 at http://cats.com/a.jpg, or www.cats.org!": (
        "follow #cats and @cat_lover5 at http://cats.com/a.jpg or www.cats.org"
    ),
    "Mail me@cats.com.": "mail me@cats.com",
    "Call 555-1234 or (555) 555-1234 now": (
        "call 555-1234 or -lrb-555-rrb- 555-1234 now"
    ),
    "A #1 fan & a * star ** ~ ^ | \\ / = + % @ #": (
        "a # 1 fan & a * star ** ~ ^ | \\ / = + % @ #"
    ),
    "Wow!! Really?! No! Yes?": "wow !! really ?! no yes",
    "ma'am, o'clock, O'Brien, d'oeuvre, hors d'oeuvres, c'mon, "
    "y'all, l'eau, Hawai'i, jack-o'-lantern": (
        "ma'am o'clock o'brien d'oeuvre hors d'oeuvres c'mon y' all "
        "l'eau hawai'i jack-o lantern"
    ),
    "singin' and somethin' ol' school Dunkin' donuts": (
        "singin and somethin' ol' school dunkin' donuts"
    ),
    "&quot;A cat &amp; a dog&quot; &lt;3": "a cat & a dog < 3",
    "It\u2019s a dog\u2019s bed, isn\u2019t it? \u201cYes\u201d, "
    "\u2018no\u2019 o\u2019clock": (
        "it 's a dog 's bed is n't it yes no o\u2019clock"
    ),
    "A cat \u2014 black \u2013 sleeps\u2026": "a cat black sleeps",
    "Half \xbd of \xa35 or \u20ac5 for 50\xa2 at 20\xb0 \xa9 \u2122 3\xd74": (
        "half 1/2 of # 5 or $ 5 for 50 cents at 20 \xb0 \xa9 \u2122 3 \xd7 4"
    ),
    "A soft\xadhyphen, a no\xa0break space, a zero\u200bwidth one": (
        "a softhyphen a no break space a zero width one"
    ),
    "It`s a cat, can`t you see, ma`am?": "it s a cat ca n`t you see ma`am",
    "": "",
    " \t ": "",
    "?!": "?!",
    "Well...yes --no- way": "well yes no way",
    "5 o'clock at 8:00am w/o a b/w TV": "5 o'clock at 8:00 am w/o a b/w tv",
    "A sign: \u2018Joe\u2019s\u2019, the \u2018Men\u2019s\u2019 room": (
        "a sign joe 's the men 's room"
    ),
    "C'est l'\xe9t\xe9, c\u2019est-\xe0-dire qu\u2019il n'a qu'un jouet "
    "\xe0 l'ombre d\u2019un chef-d'\u0153uvre.": (
        "c'est l'\xe9t\xe9 c\u2019est \xe0-dire qu\u2019il n a qu'un jouet "
        "\xe0 l'ombre d\u2019un chef-d'\u0153uvre"
    ),
    "L'a-t-il vu d'\xe0 c\xf4t\xe9, d'y aller, aujourd\u2019hui, "
    "jusqu'\xe0 l'eau d'or ?": (
        "l' a-t-il vu d' \xe0 c\xf4t\xe9 d' y aller aujourd hui jusqu \xe0 "
        "l'eau d'or"
    ),
    "Grand'm\xe8re s'est assise pr\xe8s d'une entr'ouverte, l'un d\u2019eux": (
        "grand 'm \xe8re s est assise pr\xe8s d'une entr ouverte l'un "
        "d\u2019eux"
    ),
    "S'ha vist n'hi ha d'aigua, d\xf3na-me'n copo-d'\xe1gua x-d'un!": (
        "s'ha vist n'hi ha d'aigua d\xf3na-me 'n copo-d'\xe1gua x-d'un"
    ),
    "O'o and O\u2019O, Cap'n Jack's ship, c'mon, ol'man ol'x somethin'x l'1": (
        "o'o and o\u2019o cap'n jack 's ship c'mon ol man ol' x somethin' x "
        "l' 1"
    ),
    "At 10a.m., 5:30p.m., 10th.T. and 5.5ft. tall": (
        "at 10a m. 5:30 p.m. 10th t. and 5.5 ft. tall"
    ),
    "A 5\u201910\u201d man, a 5'10\" one, the '80's and a '57, '97.": (
        "a 5 10 man a 5 10 one the 80 's and a 57 97"
    ),
    "3 1\u20442 of 1\\/2, a\u2044b, 24/7/365 and/or n/a caf\xe9/bar, "
    "bar/caf\xe9": (
        "3 1\u20442 of 1\\/2 a \u2044 b 24/7/365 and/or n/a caf\xe9 / bar "
        "bar/caf \xe9"
    ),
    "The U.S.\u2019s flag, a.m.\u2019s and (J.\u2019)": (
        "the u.s. 's flag a.m. 's and -lrb- j. -rrb-"
    ),
    "\xc0. \xe0. \xc9.U. J.\xc9. \xe8. Il est l\xe0 \xe0. Ici": (
        "\xe0 \xe0 \xe9.u j.\xe9 \xe8 il est l\xe0 \xe0 ici"
    ),
    "A cafe\u0301-bar, caf\xe9-bar, caf\xe9_bar, sofa,caf\xe9-x": (
        "a cafe\u0301 bar caf\xe9-bar caf\xe9_bar sofa caf\xe9-x"
    ),
    "An anti-U.S. sign, non-U.S. EU-U.S. Ed.D. TREAS. a": (
        "an anti-u.s. sign non-u.s. eu-u.s. ed.d. treas. a"
    ),
    "Caf&eacute;s &Uuml;ber l'&eacute;t&eacute; &#39;a&#39; b&mdash;c": (
        "caf&eacute;s &uuml;ber l' &eacute;t&eacute; &#39; a &#39; b c"
    ),
    "H\u2082O, x\xb2\xb3 10\u207b\u2075 m\xb3": (
        "h \u2082 o x \xb2\xb3 10 \u207b\u2075 m \xb3"
    ),
    "A smile :] :-[ :{ or (:O) :D\xe9 but :]a": (
        "a smile :] :-[ :{ or -lrb- :o -rrb- :d \xe9 but -rsb- a"
    ),
    "A -LRB- dog -rrb- -lsb-": "a -lrb- dog -rrb- -lsb-",
    "He said \u2019no\u2019 \u2019more\u2019 to the dogs\u2019 "
    "\u2019rest\u2019": ("he said \u2019n o 'm ore to the dogs 're st"),
    "\u0665:\u0663\u0660 \u0665,\u0665 \u0967:\u0968": (
        "\u0665:\u0663\u0660 \u0665,\u0665 \u0967:\u0968"
    ),
    '<and/or> <a href="x"> <a b=c> </b > <!-- x > <br/> <1>': (
        '< and/or > <a href="x"> < a b = c > </b > <!-- x > <br/> < 1 >'
    ),
    "#d'un #isn't @c'est #N'Golo #caf\xe9": (
        "#d un #isn t @c est #n golo #caf\xe9"
    ),
    "at http://a.com/b: http://a.com/c; http://a.com-": (
        "at http://a.com/b: http://a.com/c; http://a.com"
    ),
    "ABC$5 abc$5 D&G., H&M, <me@cats.com>": (
        "abc$ 5 abc $ 5 d&g. h&m <me@cats.com>"
    ),
    "fish'n, fish 'n chips \u2019n! x'n": "fish n fish 'n chips \u2019n x 'n",
    "‘“a”’ b": "``` a ''' b",
    "“a”’s b": "a ''' s b",
    "she said “come, a.’” b": "she said come a. ''' b",
    "““a””": "```` a ''''",
    "«‹a›»": "``` a '''",
    "d’«art» l’“eau”": "d’ art l’ eau",
    "qu’“il”": "qu '`` il",
    "a ’‘ b ”“": "a '` b ''``",
    "“’90s “‘em": "``' 90s ``` em",
    "5.jpg and 000123.JPG": "5.jpg and 000123.jpg",
    "7.png. 1.gif, 5.c": "7.png 1.gif 5.c",
    "500B.C. 10b.h": "500b.c 10b.h",
    "(800) 555- 1234 (800) 555-1234": (
        "-lrb- 800 -rrb- 555 1234 -lrb-800-rrb- 555-1234"
    ),
}
