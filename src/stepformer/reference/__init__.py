"""The layers of the Transformer in NumPy, written with recorded ops: functions of inputs and parameters."""
