"""Words for the made pages: English prose long in the public domain, and one article in other languages."""

from __future__ import annotations

# Melville, Austen, Dickens, Darwin, Thoreau, Carroll, Defoe, Shelley, Doyle, Lincoln, Conrad.
ENGLISH = """
Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing
particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It is
a way I have of driving off the spleen and regulating the circulation. Whenever I find myself growing grim about the
mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself involuntarily pausing before coffin
warehouses, and bringing up the rear of every funeral I meet, then I account it high time to get to sea as soon as I
can. It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a
wife. However little known the feelings or views of such a man may be on his first entering a neighbourhood, this truth
is so well fixed in the minds of the surrounding families, that he is considered as the rightful property of some one or
other of their daughters. It was the best of times, it was the worst of times, it was the age of wisdom, it was the age
of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the
season of darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we had nothing
before us. When on board the ship, as naturalist, I was much struck with certain facts in the distribution of the
inhabitants of South America, and in the geological relations of the present to the past inhabitants of that continent.
These facts seemed to me to throw some light on the origin of species, that mystery of mysteries, as it has been called
by one of our greatest philosophers. I went to the woods because I wished to live deliberately, to front only the
essential facts of life, and see if I could not learn what it had to teach, and not, when I came to die, discover that I
had not lived. I did not wish to live what was not life, living is so dear; nor did I wish to practise resignation,
unless it was quite necessary. Alice was beginning to get very tired of sitting by her sister on the bank, and of having
nothing to do: once or twice she had peeped into the book her sister was reading, but it had no pictures or
conversations in it. So she was considering in her own mind, as well as she could, for the hot day made her feel very
sleepy and stupid, whether the pleasure of making a daisy chain would be worth the trouble of getting up and picking the
daisies, when suddenly a white rabbit with pink eyes ran close by her. I was born in the year sixteen hundred and thirty
two, in the city of York, of a good family, though not of that country, my father being a foreigner of Bremen, who
settled first at Hull. He got a good estate by merchandise, and leaving off his trade, lived afterwards at York, from
whence he had married my mother. It was on a dreary night of November that I beheld the accomplishment of my toils. With
an anxiety that almost amounted to agony, I collected the instruments of life around me, that I might infuse a spark of
being into the lifeless thing that lay at my feet. It was already one in the morning; the rain pattered dismally against
the panes, and my candle was nearly burnt out. To the detective she is always the woman. I have seldom heard him mention
her under any other name. In his eyes she eclipses and predominates the whole of her sex. He was, I take it, the most
perfect reasoning and observing machine that the world has seen, but as a lover he would have placed himself in a false
position. Four score and seven years ago our fathers brought forth on this continent a new nation, conceived in liberty,
and dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war, testing
whether that nation, or any nation so conceived and so dedicated, can long endure. We are met on a great battlefield of
that war.
The sea reach of the river stretched before us like the beginning of an interminable waterway. In the offing the sea and
the sky were welded together without a joint, and in the luminous space the tanned sails of the barges drifting up with
the tide seemed to stand still in red clusters of canvas sharply peaked, with gleams of varnished spirits. A haze rested
on the low shores that ran out to sea in vanishing flatness. The air was dark above the town, and farther back still
seemed condensed into a mournful gloom, brooding motionless over the biggest, and the greatest, town on earth.
"""

MASTHEADS = (
    "The Evening Courier",
    "Harbour Gazette",
    "The County Herald",
    "Morning Observer",
    "The Weekly Post",
)
HEADLINES = (
    "GREAT FIRE IN THE DOCKS",
    "Bridge Opened by the Mayor",
    "GRAIN PRICES FALL AGAIN",
    "New Railway to the Coast",
    "STORM WRECKS FISHING FLEET",
    "Council Votes for Gas Lamps",
    "THE QUEEN'S SPEECH",
    "Gold Found in the North",
    "MINERS RETURN TO WORK",
    "A Remarkable Voyage",
)
TITLES = ("A TREATISE", "ELEMENTS", "THE HISTORY", "A JOURNAL", "SERMONS", "REPORT", "STATUTES", "A VOYAGE")
PLACES = (
    "Ashford", "Birling", "Cray Hill", "Dunmore", "Eastwick", "Fenside", "Greywell", "Holm Sands", "Inver Bay",
    "Kirkby", "Long Reach", "Marden", "Norwood", "Oxlea", "Penrose", "Quarry Head", "Ravensea", "Stonebeck",
    "Thornham", "Upper Lees", "Wexcombe", "River Alder", "The Narrows",
)  # fmt: skip
NAMES = (
    "Adams", "Bartlett", "Clarke", "Dunn", "Ellis", "Foster", "Grant", "Hughes", "Irving", "Jarvis", "Kemp",
    "Lowell", "Mercer", "Norris", "Osborne", "Parker", "Quinn", "Reeves", "Sutton", "Turner", "Walsh", "Young",
)  # fmt: skip
GOODS = (
    "barley", "sacks of flour", "tallow", "coal, per ton", "lamp oil", "sundries", "wages", "timber", "nails",
    "rope", "carriage", "salt fish", "repairs", "bricks", "harness", "to cash", "by balance", "interest",
)  # fmt: skip
FIELDS = (
    "Name in full", "Date of birth", "Occupation", "Residence", "Parish", "Signature", "Number of children",
    "Where married", "Rate of pay", "Remarks", "Witness", "Received from", "Amount", "District", "Cause",
)  # fmt: skip

# The first article of the Universal Declaration of Human Rights.
OTHER_LANGUAGES: dict[str, str] = {
    "russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι "
    "με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם "
    "לנהוג איש ברעהו ברוח של אחווה.",
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا "
    "بروح الإخاء.",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। "
    "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
    "thai": "มนุษย์ทั้งหลาย เกิดมามีอิสระ และเสมอภาคกัน ในเกียรติศักดิ์ และสิทธิ ต่างมีเหตุผล และมโนธรรม "
    "และควรปฏิบัติต่อกัน ด้วยเจตนารมณ์ แห่งภราดรภาพ",
}
