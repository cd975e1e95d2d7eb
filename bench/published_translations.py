"""What FasterTransformer's tables of T5 ran (its docs/t5_guide.md): translations of the 3003 sentences of newstest2014
from English to German by examples/pytorch/t5/translate_example.py, in batches in the order of the file, whose times hold
all of it. A batch is padded to its longest source and goes on until its last sentence has ended.

The tables have no lengths. They follow from published counts, none of them a time, and from one assumption, that
lengths are spread as an Erlang distribution of four stages, whose deviation is half of the mean.
"""

import math

# 62591 words of the guide's own run; a German word makes 1.56 tokens and an English one 1.17: the 3.86 and 4.57
# characters per token that T5's tokenizer takes of FLORES-200 (AleksandarPetrov/tokenization-fairness, lengths of FlanT5
# and CANINE), at 6.0 and 5.3 characters per word with its space or mark.
WORDS = 62591 / 3003
TARGET = 1.56 * WORDS + 1  # and the end
SOURCE = 1.17 * 22.5 + 5 + 1  # the words of the English side, "translate English to German:", and the end
LONGEST_TARGET = 128  # --max_seq_len

STAGES = 4


def longest(mean, sentences):
    """The expected length of the longest of so many sentences."""
    scale, total, step = mean / STAGES, 0.0, 0.1
    for i in range(int(20 * mean / step)):
        x = (i + 0.5) * step / scale
        below = 1 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(STAGES))
        total += step * (1 - below**sentences)
    return round(total)


def counted(device):
    """What of a sentence the figures count. The script of the tables for V100 divided BLEU's length of the hypotheses,
    words, by the time; the one beside those for A100 counts tokens."""
    return WORDS if device.startswith("V100") else TARGET


def split(row):
    """Whether two devices ran it, as the guide's one footnote says."""
    return row["framework"] == "FasterTransformer" and row["note"].startswith("T5-small on V100-16GB") and (
        row["batch"] == "128" and row["note"].endswith("beamsearch=32"))


def runs(network, row):
    """[(settings of `dlcost network`, dimensions, how often)] of one batch, and the seconds that it took."""
    sentences = int(row["batch"])
    kind, _, width = row["note"].rpartition("; ")[2].partition("=")
    beams = int(width) if kind == "beamsearch" else 1
    source, target = longest(SOURCE, sentences), min(longest(TARGET, sentences), LONGEST_TARGET)
    # FasterTransformer's encoder leaves padding out: remove_padding, since the tables for A100 from 33 sentences on.
    packed = row["framework"] == "FasterTransformer" and (row["device"].startswith("V100") or sentences > 32)
    batch, rows = ["--batch", str(sentences)], ["--batch", str(sentences * beams)]
    length = ["--dim", f"source={source}"]
    return [((*network, "phase=encoder"), [*batch, "--dim", f"source={round(SOURCE)}"] if packed else [*batch, *length], 1),
            ((*network, "phase=decoder"), [*rows, *length, "--dim", "target=1"], 1),
            ((*network, "phase=decode"), [*rows, *length, "--dim", f"past={target // 2}"], target - 1),
            ], sentences * counted(row["device"]) / float(row["value"])  # fmt: skip
