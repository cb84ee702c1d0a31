"""Odd captions of many kinds, drawn from a seed."""

import random

#: Kinds of odd words, each a string of them with spaces between, or a list.
KINDS = {
    "french": "c'est c’est C'est C'EST c'était l'homme L'Homme l’eau d'un "
    "d’une D'Artagnan d'Artagnan j'ai J’ai qu'il Qu'il qu’elle jusqu'à "
    "lorsqu'il aujourd'hui Aujourd’hui s'est s’est n'a n'est m'a t'es "
    "quelqu'un presqu'île entr'ouvert l'été L'été l'œil l'île d'à d'œuvre "
    "chef-d'œuvre hors-d'oeuvre c'est-à-dire est-ce qu'est-ce a-t-il "
    "y a-t-il va-t'en rendez-vous m'en d'en l'a d'y j'y s'y n'y c'en "
    "l'on l'un l'autre d'eau d'or Côte-d'Or prud'homme grand'mère",
    "italian": "l'uomo un'altra un’amica dell'acqua dell’anno all'aperto "
    "nell'erba sull'albero dall'alto quell'uomo c'è C'è c'era po' un po' "
    "d'oro D'Annunzio dev'essere com'è cos'è dov'è quest'anno sant'Antonio "
    "Sant’Angelo mezz'ora bell'e va' fa' dell'Arte città perché L'Aquila",
    "catalan": "l'home d'aigua s'ha n'hi m'agrada l'àvia d'ençà dóna-me'n "
    "porta'm compra'l posa't anar-se'n veure'ls dir-li'n col·lecció "
    "col•lecció l·l paral·lel",
    "spanish": "¿Qué ¡Hola! ¿No? niño señora corazón pingüino EE.UU. Sr. Sra. "
    "Dña. D. 1º 2ª 3er. p.ej. etc. mañana.",
    "german": "geht's gibt's wie's 's ist's auf'm so'n Hans' Straße Str. z.B. "
    "z. B. u.a. d.h. Dr. Prof. ca. Nr. Nr.5 Fußgängerübergang Über 5,50 €5 "
    "20.Mai 3.Stock",
    "portuguese": "d'água copo-d'água pão mãe não dá-lhe fê-lo Sr.ª n.º "
    "guarda-chuva caixa-d’água",
    "names": "O'Neil O’Neil o'neil O'o O’o O'NEIL D'Angelo d'Angelo D’Arcy "
    "M'Baye N'Golo K'Nex Ta'Quan De'Andre La'Shawn Qur'an Hawai'i Ha'penny "
    "Coeur d'Alene Xi'an Ma'am ma'am Ba'al Sha'ab T'Pol R'lyeh F'lar "
    "McDonald's MCDONALD'S Wendy’s James' James's Joneses' O' D' L' d' l' "
    "y'all Y'ALL y’know jack-o'-lantern jack-o’-lantern will-o'-the-wisp "
    "Chick-fil-A Toys'R'Us Land O'Lakes",
    "clitics": "it's It’s IT'S isn't ISN'T isn’t Isn`t can't cannot CANNOT "
    "won't shan't don'ts DON'TS ain't y'all'd've he'd've she’d’ve who'll've "
    "should've I'm I’M I'M you're we'll they'd dog's dogs' dog’s dogs’ dog`s "
    "'s 'll n't 't 're 'tis 'Tis ’tis 'twas ’Twas 'twill gonna gotta wanna "
    "gimme lemme dunno GONNA Wanna! c'mon C'mon s'mores 'em ’em 'til ’til "
    "'till 'cause 'n' ’n’ rock'n'roll rock’n’roll R'n'B drum'n'bass "
    "o'clock o’clock ne'er e'er ev'ry li'l nat'l cont'd nor'easter ol' "
    "somethin' singin' Dunkin' fo'c'sle bo's'n Cap'n d'you D'ya 'ere ha'p'ny "
    "'s' 'it's' ''s ain'ts mustn't've",
    "measures": [
        *("5'10\"", "5’10”", "5'10''", "6'", "6''", '6"', "5' 10\"", "5ft. 10"),
        *("10a.m.", "10 a.m.", "10am", "10AM", "10 p.m.", "10p.m", "10PM."),
        *("4x4", "2x4s", "3 x 4", "10ft", "10ft.", "5lb.", "5lbs", "20mph"),
        *("5'x7'", '8x10"', "100°F", "100° F", "20ºC", "5km", "5k", "9mm"),
        *("1080p", "5.5in", "3D", "3-D", "2nd.", "1st", "4th-floor", "21st."),
        *("No.1", "No. 1", "no.5", "#1", "# 1", "№5", "pp. 5", "p.5", "fig.3"),
        *("vol. 3", "ch. 2", "Sec. 3", "Art. 5", "op. 9", "est. 1999"),
        *("10a", "10a.b", "a10.b", "5.a", "5.5.5", "1.", "1.)", "(1)", "1)"),
    ],
    "fractions": [
        *("1/2", "3 1/2", "3-1/2", "22 3/4", "12345 1/2", "1/12345", "3  1/2"),
        *("½", "3½", "3 ½", "¼-inch", "⅓", "⅛", "1/2/3", "24/7", "9/11", "1⁄2"),
        *("3 1/2.", "3 1/2-inch", "3/4ths", "1/2a", "a1/2", "5 1/2 1/4"),
        *("1/ 2", "1 /2", "10/10/10", "5 10/100", "1\\/2", "0 1/23456"),
        *("1/2 3/4", "one 1/2", "3,1/2", "2.5/5", "-1/2", "+1/2", "3 - 1/2"),
    ],
    "times": "5:30 05:30pm 5:30p.m. 12:05:33 5:30-6:30 5.30pm 5h30 17h "
    "11:44am 1:2:3:4 :30 5: 5:a 10:10,10:20 7:00a.m. 24:00h",
    "abbreviations": "St. Mr. Mrs. Dr. Jr. Sr. Inc. Co. Corp. Ltd. Ave. Blvd. "
    "Rd. Mt. Ft. vs. etc. e.g. i.e. a.k.a. U.S. U.S.A. U.K. D.C. Ph.D. B.Sc. "
    "M.D. Jan. Feb. Sept. Dec. Mon. Tues. Thurs. Sat. Sun. Calif. Ala. Tex. "
    "tex. Pa. pa. La. la. Ill. ill. Wash. wash. Mass. miss. Ore. Del. del. Az. "
    "dept. Dept. Univ. assn. Gov. Gen. Col. Lt. Sgt. Capt. Prof. Rev. Hon. "
    "Pres. Sen. Rep. Messrs. cf. al. seq. Nos. nos. est. ext. tel. sq. "
    "prop. ca. art. fig. Figs. op. p. pp. ch. vol. min. max. oz. lb. in. ft. "
    "yd. mi. hr. sec. a. A. K. x. I. U.S.-based U.S.S.R. non-U.S. EU-U.S. "
    "a.m. p.m. A.M. P.M. am. pm. J.K. J. K. R.E.M. W.C. T.V. tv. N.Y. L.A. "
    "Ph. D. pty. Pty. Ltd. Alex. Wm. Jos. Cie. Invt. Mfg. Mtg. "
    "Bhd. Plc. Intl. Sys. Ste. Sta. cos. Bros. Esq. Ed.D. Adm. Det. Brig. "
    "approx. Govt. apt. ave no. No. Mlle. Mme. Msgr. Ms. Drs. Ens. Spc. ",
    "acronyms": "AT&T AT&amp;T B&B b&b R&B Q&A S&P-500 S&Ls A+B C++ c++ C# F# "
    "c# A&W&R M&M's D&G. H&M, NASA's NASA IKEA-like US$ US$5 C$10 A$AP Ke$ha "
    "TREAS. C.D.s pro-life anti-war ABC.com A.B.C.D a.b.c. U.S.A U.N.'s",
    "hyphens": "half-eaten t-shirt T-SHIRT x-ray 4-wheeler 20-something "
    "well-lit_room x_y _x_ x__y -x x- --x x-- a-b-c-d a--b a---b a‐b a‑b a‒b "
    "7-Eleven 7-up 3-2 1,000-year-old 2.5-inch 1990-2000 90-year-old's "
    "Spider-Man's non-U.S. e-mail F-16 F-16s B-52. U-turn mother-in-law's "
    "stop-sign. king-sized, X-mas! café-bar bar-café Saint-Étienne "
    "Müller-Straße été-hiver well–lit a—b post-’90s pre-'90s-era O'-x "
    "d'un-x x-d'un 10-l'a l'a-b 5-d'un é-mail e-mailé x-1.5 x-.5 1.5-x",
    "slashes": "and/or his/her black/white/red w/ w/o b/w a/c 1/2-inch "
    "tub/shower/toilet a/b/c/d/e n/a café/bar bar/café half-bath/shower "
    "a-b/c-d e/é 5/a a/5 and\\/or x\\y //x x// km/h 24/7/365 a/b. a/b's",
    "urls": "http://cats.com/a.jpg https://www.cats.org. www.cats.org "
    "cats.com cats.com/a cats.org/a.jpg cats.edu, cats.co.uk Amazon.com's "
    "ftp://x.com www.a.b HTTP://A.COM/ http://a http://a.b?c=d&e=f "
    "(http://a.com) http://a.com/x_(y) a-b.com a.b.com x.com. cats.com- "
    "http://l'a.com/ my_site.net image.jpg IMG_1234.JPG file.tar.gz "
    "yahoo.com! Cats.Com wordpress.com/tag www.cats.org/a,b é.com",
    "emails": "me@cats.com me.you@cats.co.uk <me@cats.com> me@cats. me@ "
    "@cats a@b me@cats.com, me@cats.com! m'e@cats.com me(at)cats.com "
    "x-y_z@a-b.org 5@5 me@@cats (me@cats.com) é@cats.com",
    "tags": "#cats #1cat #cat_s #é #cats-dogs ##cats @cat @cat_1 @1cat @@cat "
    "@é #CATS! <b> </b> <b>bold</b> <br/> <br /> <unk> <UNK> <s> </s> <pad> "
    "<start> <end> <|endoftext|> [CLS] [SEP] [UNK] <3 <- -> => <= >= < > << >> "
    '<a href="x">y</a> <!-- x --> <?xml?> <!x <5> <é> a<b a>b a<b>c '
    "&amp; &lt; &gt; &quot; &apos; &nbsp; &eacute; caf&eacute; &#39; &#233; "
    "&mdash; &ndash; &hellip; & && a&b A&b &c",
    "smileys": ":) :-) :( :-( ;) ;-) =) :D :-D xD XD :P :p :d :o :O :-O :'( "
    ":* :-* :| :\\ :/ :-/ 8) :] :[ :{ :} :@ =D =P <:) >:( ^_^ -_- >_< =_= "
    "~_~ '_' o_o O_O x_x ^^ :)) ((: :: car:pet :pet a:D 5:D ;Dog :): :-)x",
    "emoji": "😀 👍🏽 ❤️ ❤ ☺ ✌️ 👨‍👩‍👧 🇫🇷 dog😀cat 😀's ★ ☆ ✓ ✔ ♥ ♪ © ® ™ → ← ⇒ "
    "☀ ☕ ⚽ ▲ ■ ● ◦ • ‣ · ∙ ․ ‥ … ∞ ≈ ≠ ≤ ≥ ± × ÷ √ ∑ µ Ω °",
    "quotes": [
        *("'a dog'", '"a dog"', "“a dog”", "‘a dog’", "``a dog''", "`a dog'"),
        *("«a dog»", "« a dog »", "‹a dog›", "„a dog“", "‚a dog‘", "‟a dog”"),
        *("'A'", "'a'", "'5'", '"5"', "''", "'''", "''''", '""', "“”", "’’"),
        *("a'b'c", 'a"b"c', "'tis'", "'no parking'", "'No Parking'", "'s'"),
        *("‘Joe’s’", "‘90s", "’90s", "'90s", "'57", "’57", "'57-", "'5", "`57"),
        *("'til'", "'em'", "'empty'", "'Till'", "'cause", "'causes", "'tired'"),
        *("'re", "'red'", "'sad'", "'dog", "'veal'", "'llama'", "'msn'", "'d"),
        *("´a´", "a´b", "it´s", "aˈb", "aʼs", "aʹs", "it＇s", "＂a＂", "′5″"),
        "5′",
        *("'I", "'I'm", "'Don't", "don''t", "it''s", "‛a‛", "it‛s", "it‘s"),
        *("isn‘t", "isn‛t", "isn''t", "is'nt", "n't", "N'T", "'n", "'N'"),
        "`n`",
        *("1990's", "1990’s", "1990s'", "90's", "the '80's", "'80s-style"),
    ],
    "dots": [
        *("wait...", "wait..", "wait....", "wait. . .", "wait…", "…wait"),
        "..a",
        *("a...b", "a.b", "a..b", "a. b", "a .b", "wait.Then", "5.Then", ". ."),
        *("end.)", "end.'", 'end."', "end.”", "end.’", "end.,", "end.;"),
        "end.:",
        *("(end.)", "end.-", "end.!", "end?.", "end.?", ".", "...", "......"),
        *("x!y", "x?y", "x!!y", "x!?", "?!x", "1!2", "a!1", "1!a", "Yahoo!"),
        *("no!'", "a,b", "a, b", "a ,b", "1,b", "a,1", "1,000", "1,00,0", ",5"),
        *("a;b", "a:b", "a:1", "1:a", "1;2", ":a", ";a", "a.1", "1.a", "a.1.b"),
    ],
    "dashes": "- -- --- ---- ----- – — ― ‒ ‐ ‑ − ─ a-- --b a–b a—b 5–6 5—6 5−6 "
    "−5 –5 +5 -5 +-5 -a ~5 ± -5.5 -.5 +.5 --5 ---a a- -a- -LRB- -lrb- -RSB-",
    "currency": "$5 $5.50 $ 5 5$ US$5 £5 5£ €5 5€ ¥5 5¢ ₹5 ₤5 ¤5 $1,000 $1M "
    "$5-10 $5/day ₩5 ₽5 ฿5 Rs.5 Rs. 5 USD5 5USD #5 A$ AB$ ABC$ abc$ a$b $$ $$5",
    "degrees": "20° 20°C 20 °C 20℃ 20℉ 20º 1ª n° N°5 n°5 nº5 №5 5% % 5 50% 5‰ "
    "x² m³ H₂O 10⁵ ⁵ ₅ ⁻⁵ x⁻¹ ① ② Ⅷ ⅷ ㎝ ㎏ ½",
    "decades": "1980s 1980's 1980’s '80s ’80s 80s 80's mid-80s mid-1980s "
    "20th-century 1st 2nd 3rd 4th 21st-century 1800s-era 1980s. '60s, 60's.",
    "phones": [
        *("555-1234", "(555) 555-1234", "(555)555-1234", "555-555-1234"),
        *("+1 555 555 1234", "555.555.1234", "1-800-555-1234", "555 1234"),
        *("+44 20 7946 0958", "1 800 555 1234", "(02) 555 1234", "911", "0800"),
        *("123 4567 890", "12 345 678", "12 34 56", "1234 12345", "(5) 555"),
        *("10 000 000", "100 000", "1 000", "2000 2001", "24 500 people"),
    ],
    "dates": "10/29/11 10-29-2011 2011-10-29 10.29.11 29/10 Oct.29 Oct. 29 "
    "1/1/2000s 10/29/2011. 2011/10/29 10/2011 May.5 9-11 2001-09-11T10:00:00Z",
    "accents": "café cafe\u0301 CAFÉ e\u0301tat naïve nai\u0308ve Ångström "
    "A\u030angstro\u0308m ñandú n\u0303andu\u0301 café's cafe\u0301's "
    "cafe\u0301-bar café.Bar cafe\u0301n't éa'b œuvre ßa ŒUVRE İstanbul ı ſ ﬁn "
    "ﬀ ŉ ǆ",
    "wide": "Ｄｏｇ ｄｏｇ'ｓ ５０％ （ｄｏｇ） ！ ？ 。 ， 、 ・ ｢ｄ｣  "
    "猫がいる 一只狗。 犬、猫 고양이가 "
    "개's 猫-dog dog猫 １/２ ａ@ｂ "
    "「猫」 『犬』 【犬】 《犬》 〈犬〉 〜 ～ ー 々 〇 々犬",
    "scripts": "كلب كلبٌ القطة، ؟ ؛ كَلْب ٥٠ ٥٫٥ ٪ שלום של׳ של״ט собака "
    "собака's д'Артаньян д’Арк о'нил Σκύλος κύων· ναι; हिन्दी कुत्ता। বাংলা ไทย "
    "ພາສາ தமிழ் կատու։ ქართული አማርኛ᎐ ᏣᎳᎩ ខ្មែរ မြန်မာ བོད་ཡིག",
    "invisible": [
        *("do\xadg", "\xad", "do\xad-g", "is\xadn't", "do\u200bg", "do\u200cg"),
        *("do\u200dg", "do\ufeffg", "\ufeffdog", "do\u2060g", "\u200edog"),
        *("dog\u200f", "a\xa0b", "a\u2009b", "a\u202fb", "a\u3000b"),
        *("3\xa01/2", "5\xa0%", "a\x00b", "a\x07b", "a\x1bb", "a\x7fb"),
        *("a\x08b", "St.\xa0John", "U.\xa0The", "\u202adog\u202c", "a\u180eb"),
        *("a\ufffdb", "a\ufffcb", "a\ue123b", "a\u0378b", "5\xad5", "no.\xa05"),
    ],
}
#: What stands around an odd word. Each caption draws one.
_FRAMES = [
    *("{}", "a {} b", "{} dog", "{} Dog", "the {}.", "The {} , a dog", "{}, a"),
    *("({})", '"{}"', "'{}'", "“{}”", "a {}: dog", "{}; a", "{}!", "{}?"),
    "{}…",
    *("{} The dog", "{} A man", "{} 5 dogs", "{} 1/2", "{}{}", "{} {}"),
    "{}-{}",
    *("{}/{}", "{}'s {}", "{}-a", "a-{}", "5{}", "{}5", "a{}", "{}a", "é{}"),
    *("{}é", "5 {}", "no {}", "{}. The", "{}. a", "{}.{}", "{},{}", "{}’s"),
    "d'{}",
    *("{} - {}", "{}'", "’{}’", "{} 's", "<{}>", "#{}", "@{}", "${}"),
]


def odd_captions(count: int, seed: int = 0) -> list[str]:
    """Each odd word by itself, then as many captions of odd words in frames.

    Args:
        count: Integer, number of captions in frames.
        seed: Integer.

    Returns:
        List of strings.
    """
    draw = random.Random(seed)
    kinds = {
        k: v.split() if isinstance(v, str) else v for k, v in KINDS.items()
    }
    names = list(kinds)
    alone = [word for words in kinds.values() for word in words]
    framed = []
    while len(framed) < count:
        frame = draw.choice(_FRAMES)
        kind = kinds[draw.choice(names)]
        other = kind if draw.random() < 0.5 else kinds[draw.choice(names)]
        words = draw.choice(kind), draw.choice(other)
        framed.append(frame.format(*words[: frame.count("{}")]))
    return [*alone, *framed]
