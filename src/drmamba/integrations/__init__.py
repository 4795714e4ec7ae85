"""Connections to other programs and formats, one file each: ONNX, the Hugging Face Hub, OCR-D, OCRmyPDF."""
