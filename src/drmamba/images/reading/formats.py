"""The formats that are read, and the endings that their files have."""

# Pillow's names. EPS is left out because Pillow would start a PostScript interpreter for it.
PILLOW_FORMATS = ("JPEG", "PNG", "TIFF", "JPEG2000", "WEBP", "BMP", "DIB")
EXTRA_IMAGES = (".heic", ".heif", ".jxl")  # with the extra `formats`
READABLE_IMAGES = (
    ".jpg", ".jpeg", ".png", ".tif", ".tiff", ".jp2", ".j2k", ".jpx", ".webp", ".bmp", *EXTRA_IMAGES
)  # fmt: skip
READABLE = (*READABLE_IMAGES, ".pdf")
