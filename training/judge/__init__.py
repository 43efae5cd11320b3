"""The judge («same occurrence?»): pairs, training, calibration and its figures."""
