"""Perceived distances between colours, with and without a colour deficiency."""

import numpy as np

_LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
_LAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]

# Maps from linear RGB to the colours that people without one kind of cone see.
# Machado, Oliveira, Fernandes, A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009, severity 1.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def oklab(rgb, deficiency=None):
    """Return OKLab coordinates, whose distances approximate perceived ones (Ottosson 2020).

    Parameters
    ----------
    rgb : float array of shape (..., 3), 0 to 1
    deficiency : {"protanopia", "deuteranopia", "tritanopia"}, optional
        Of the eyes to which they look so.
    """
    light = linear(rgb)
    if deficiency is not None:
        light = np.clip(light @ np.transpose(DEFICIENCIES[deficiency]), 0.0, 1.0)
    return np.cbrt(light @ np.transpose(_LMS)) @ np.transpose(_LAB)


def luminance(rgb):
    """Return the relative luminance of a colour, from 0 to 1, as WCAG 2.2 defines it."""
    return float(linear(rgb) @ (0.2126, 0.7152, 0.0722))


def linear(rgb):
    """Return the linear intensities of sRGB colours."""
    rgb = np.asarray(rgb)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
