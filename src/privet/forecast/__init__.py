"""A forecast before spending: what privacy would cost in accuracy, from public facts alone."""

from privet.forecast.asking import forecast
from privet.forecast.calibration import Calibration
from privet.forecast.noise import Noise
from privet.forecast.result import Curve, Forecast, Row

__all__ = ["Calibration", "Curve", "Forecast", "Noise", "Row", "forecast"]
