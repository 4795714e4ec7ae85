"""The paper's own tables, to print beside ours; they are never mixed with measured scores."""

from __future__ import annotations

from typing import NamedTuple

LABEL = "as printed in the paper, other protocol"


class PaperRow(NamedTuple):
    """One printed row; None where the paper prints no value."""

    name: str
    fm: float
    pfm: float
    psnr: float
    drd: float | None


# "Overall comparison": means over ten years, collected by the authors from prior work.
OVERALL = (
    PaperRow("Otsu", 77.27, 79.14, 15.22, 17.24),
    PaperRow("Sauvola", 78.10, 82.91, 15.77, 8.72),
    PaperRow("Gatos", 87.33, 89.85, 17.98, 5.40),
    PaperRow("RDD (Su)", 85.96, 87.43, 17.92, 7.00),
    PaperRow("DeepOtsu", 88.59, 90.84, 19.33, 3.76),
    PaperRow("DD-GAN", 88.98, 91.17, 19.87, 3.57),
    PaperRow("cGANs", 90.24, 91.97, 19.66, 3.81),
    PaperRow("DocBinFormer", 92.22, 94.09, 21.30, 0.15),
    PaperRow("D2BFormer", 91.75, 93.05, 20.85, 2.71),
    PaperRow("TransDocUNet", 92.44, 93.86, 22.16, 0.49),
    PaperRow("DR-Mamba", 92.06, 94.15, 20.91, 2.26),
)

# "Comparison on the challenging 2019 held-out fold"
YEAR_2019 = (
    PaperRow("Otsu", 63.87, 60.24, 12.67, None),
    PaperRow("Sauvola", 63.82, 60.18, 12.66, None),
    PaperRow("DeepOtsu", 60.75, 59.91, 14.44, None),
    PaperRow("DD-GAN", 57.96, 57.30, 14.43, None),
    PaperRow("DocEnTr", 59.00, 60.00, 13.85, None),
    PaperRow("DocDiff", 73.38, 75.12, 15.14, None),
    PaperRow("DocBinFormer", 60.31, 64.00, 14.49, None),
    PaperRow("TransDocUNet", 56.79, 56.78, 13.36, None),
    PaperRow("D2BFormer", 67.63, 66.69, 15.05, None),
    PaperRow("MFE-GAN", 70.41, 70.96, 13.79, None),
    PaperRow("NAF-DPM", 74.61, 76.25, 15.39, None),
    PaperRow("DR-Mamba", 75.16, 76.08, 15.92, None),
)

# "Leave-one-year-out evaluation results"
LEAVE_ONE_OUT = (
    PaperRow("2009", 94.12, 96.24, 21.33, 1.3927),
    PaperRow("2010", 93.74, 96.10, 21.45, 1.3125),
    PaperRow("2011", 94.96, 97.24, 21.73, 1.3463),
    PaperRow("2012", 97.20, 97.96, 23.79, 0.9698),
    PaperRow("2013", 96.85, 98.07, 23.01, 1.1766),
    PaperRow("2014", 97.33, 98.81, 23.37, 0.7332),
    PaperRow("2016", 90.45, 93.91, 19.84, 3.4212),
    PaperRow("2017", 90.94, 93.73, 18.97, 2.9187),
    PaperRow("2018", 89.87, 93.32, 19.66, 2.7691),
    PaperRow("2019", 75.16, 76.08, 15.92, 6.5239),
    PaperRow("Average", 92.06, 94.15, 20.91, 2.2564),
)

# The components' means over all ten folds; the tables below are for the 2019 fold.
COMPONENTS_AVERAGE = (
    PaperRow("A0", 88.74, 90.91, 19.27, 4.1108),
    PaperRow("A1", 89.31, 91.48, 19.55, 3.7642),
    PaperRow("A2", 90.83, 92.86, 20.14, 3.0426),
    PaperRow("A3", 91.58, 93.49, 20.55, 2.6189),
    PaperRow("A4", 92.06, 94.15, 20.91, 2.2564),
)

ABLATIONS = {
    "components": (
        PaperRow("A0", 69.30, 70.55, 13.40, 9.7012),
        PaperRow("A1", 70.21, 71.67, 13.97, 9.1026),
        PaperRow("A2", 72.96, 74.32, 14.65, 8.5742),
        PaperRow("A3", 74.41, 75.05, 15.31, 7.7415),
        PaperRow("A4", 75.16, 76.08, 15.92, 6.5239),
    ),
    "fusion": (
        PaperRow("add", 68.43, 69.82, 13.21, 9.8471),
        PaperRow("concat", 70.21, 71.67, 13.97, 9.1026),
        PaperRow("subtract, beta fixed", 71.93, 73.10, 14.28, 8.8305),
        PaperRow("subtract, beta input-dependent", 72.96, 74.32, 14.65, 8.5742),
        PaperRow("subtract, shared decay", 71.16, 72.73, 14.15, 8.9403),
    ),
    "directions": (
        PaperRow("1", 72.94, 74.40, 15.18, 7.4521),
        PaperRow("4", 75.16, 76.08, 15.92, 6.5239),
        PaperRow("8", 74.27, 75.67, 15.78, 6.7498),
    ),
    "loss": (
        PaperRow("BCE", 74.41, 75.05, 15.31, 7.7415),
        PaperRow("+ boundary and balance", 74.79, 75.34, 15.68, 6.8013),
        PaperRow("+ thin-stroke connectivity", 75.16, 76.08, 15.92, 6.5239),
    ),
    "backbone": (
        PaperRow("VMamba", 72.36, 75.09, 14.51, 7.8413),
        PaperRow("ConvNeXt-Tiny", 75.16, 76.08, 15.92, 6.5239),
    ),
}
