"""Passages of text in the public domain, by script."""

from __future__ import annotations

from functools import cache
from typing import Literal

Script = Literal["latin", "greek", "cyrillic", "hebrew", "arabic", "devanagari", "cjk", "ethiopic"]

# The sources are Caesar, Vergil, Shakespeare, Luther, Goethe, Cervantes, Hooft; Homer, Herodotus, Plato; Pushkin,
# Gogol; Genesis; al-Mutanabbi, the opening of the Muqaddimah; the Gita and the Rigveda; the Analects, the Tao Te Ching,
# the Thousand Characters, the Tale of the Heike, the Pillow Book, Kim Sowol; Genesis in Ge'ez.
TEXTS: dict[Script, str] = {
    "latin": """
        Gallia est omnis divisa in partes tres quarum unam incolunt Belgae aliam Aquitani tertiam qui ipsorum
        lingua Celtae nostra Galli appellantur Arma virumque cano Troiae qui primus ab oris Italiam fato profugus
        Laviniaque venit litora multum ille et terris iactatus et alto vi superum saevae memorem Iunonis ob iram
        Shall I compare thee to a summer's day? Thou art more lovely and more temperate: Rough winds do shake the
        darling buds of May, And summer's lease hath all too short a date; Now is the winter of our discontent
        Made glorious summer by this sun of York; Received of Mr. John Hancock the sum of £ 1,784.50 on the 17th
        of March, Anno 1763. Am Anfang schuf Gott Himmel und Erde. Und die Erde war wüst und leer, und es war
        finster auf der Tiefe; Habe nun, ach! Philosophie, Juristerei und Medizin, und leider auch Theologie
        durchaus studiert, mit heißem Bemühn. En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha
        mucho tiempo que vivía un hidalgo de los de lanza en astillero, adarga antigua, rocín flaco y galgo
        corredor. Den 20. Junij 1648 is gelesen de Missive van den Admirael & Capiteyn; Vol. VII. Cap. xxiii. fol. 96
    """,
    "greek": """
        μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος οὐλομένην, ἣ μυρί᾽ Ἀχαιοῖς ἄλγε᾽ ἔθηκε, πολλὰς δ᾽ ἰφθίμους ψυχὰς Ἄϊδι
        προΐαψεν ἡρώων, αὐτοὺς δὲ ἑλώρια τεῦχε κύνεσσιν οἰωνοῖσί τε πᾶσι. Ἡροδότου Ἁλικαρνησσέος ἱστορίης ἀπόδεξις
        ἥδε, ὡς μήτε τὰ γενόμενα ἐξ ἀνθρώπων τῷ χρόνῳ ἐξίτηλα γένηται. κατέβην χθὲς εἰς Πειραιᾶ μετὰ Γλαύκωνος τοῦ
        Ἀρίστωνος προσευξόμενός τε τῇ θεῷ καὶ ἅμα τὴν ἑορτὴν βουλόμενος θεάσασθαι
    """,
    "cyrillic": """
        Мой дядя самых честных правил, когда не в шутку занемог, он уважать себя заставил и лучше выдумать не мог.
        Его пример другим наука; но, боже мой, какая скука с больным сидеть и день и ночь, не отходя ни шагу прочь!
        Чуден Днепр при тихой погоде, когда вольно и плавно мчит сквозь леса и горы полные воды свои. Ни зашелохнет,
        ни прогремит. Глядишь, и не знаешь, идет или не идет его величавая ширина
    """,
    "hebrew": """
        בראשית ברא אלהים את השמים ואת הארץ והארץ היתה תהו ובהו וחשך על פני תהום ורוח אלהים מרחפת על פני המים
        ויאמר אלהים יהי אור ויהי אור וירא אלהים את האור כי טוב ויבדל אלהים בין האור ובין החשך
    """,
    "arabic": """
        على قدر أهل العزم تأتي العزائم وتأتي على قدر الكرام المكارم وتعظم في عين الصغير صغارها وتصغر في عين العظيم
        العظائم اعلم أن فن التاريخ فن عزيز المذهب جم الفوائد شريف الغاية إذ هو يوقفنا على أحوال الماضين من الأمم
    """,
    "devanagari": """
        धर्मक्षेत्रे कुरुक्षेत्रे समवेता युयुत्सवः मामकाः पाण्डवाश्चैव किमकुर्वत सञ्जय अग्निमीळे पुरोहितं यज्ञस्य देवमृत्विजम्
        होतारं रत्नधातमम् कर्मण्येवाधिकारस्ते मा फलेषु कदाचन
    """,
    "cjk": """
        學而時習之 不亦說乎 有朋自遠方來 不亦樂乎 人不知而不慍 不亦君子乎 道可道 非常道 名可名 非常名 無名天地之始
        有名萬物之母 故常無欲 以觀其妙 常有欲 以觀其徼 天地玄黃 宇宙洪荒 日月盈昃 辰宿列張 寒來暑往 秋收冬藏 閏餘成歲
        律呂調陽 雲騰致雨 露結為霜 祇園精舎の 鐘の聲 諸行無常の 響きあり 沙羅雙樹の 花の色 盛者必衰の 理をあらはす
        春はあけぼの やうやう しろくなりゆく 山ぎは すこしあかりて 紫だちたる 雲の ほそくたなびきたる
        나 보기가 역겨워 가실 때에는 말없이 고이 보내 드리우리다 영변에 약산 진달래꽃 아름 따다 가실 길에 뿌리우리다
    """,
    "ethiopic": """
        በቀዳሚ፡ ገብረ፡ እግዚአብሔር፡ ሰማየ፡ ወምድረ። ወምድርሰ፡ ኢታስተርኢ፡ ወኢኮነት፡ ድሉተ፡ ወጽልመት፡ መልዕልተ፡ ቀላይ፡ ወመንፈሰ፡
        እግዚአብሔር፡ ይጼልል፡ መልዕልተ፡ ማይ። ወይቤ፡ እግዚአብሔር፡ ለይኩን፡ ብርሃን፡ ወኮነ፡ ብርሃን። ወርእየ፡ እግዚአብሔር፡ ለብርሃን፡
        ከመ፡ ሠናይ፡ ወፈለጠ፡ እግዚአብሔር፡ ማእከለ፡ ብርሃን፡ ወማእከለ፡ ጽልመት።
    """,
}
SCRIPTS: tuple[Script, ...] = tuple(TEXTS)
SHAPED: frozenset[Script] = frozenset({"hebrew", "arabic", "devanagari"})  # scripts that need a layout engine
RIGHT_TO_LEFT: frozenset[Script] = frozenset({"hebrew", "arabic"})


@cache
def words(script: Script) -> tuple[str, ...]:
    """The words of a script's passages, in order."""
    return tuple(TEXTS[script].split())
