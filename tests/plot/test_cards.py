"""Cards on a slide: whole words of at least 16 points, at least two bars each, nothing empty."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import FancyBboxPatch, Rectangle
from sklearn.datasets import load_breast_cancer

from greedy import IMM
from tao_cluster import DirectForm, describe, table_pipeline

NUMBERS = (
    "Kundenjahresumsatz_gesamt_brutto_eur",
    "Durchschnittliche Bestellhäufigkeit pro Kalenderquartal",
    "Rücksendequote der letzten zwölf Monate in Prozent",
    "Vertragslaufzeitrestdauer_in_monaten",
    "Haushaltsnettoeinkommensklasse (geschätzt, EUR)",
    "Alter",
    "Zahlungsausfallwahrscheinlichkeit",
    "Kundenzufriedenheitsindexwert nach letzter Befragung",
)
JOBS = (
    "Selbstständige mit Gewerbeanmeldung",
    "Angestellte im öffentlichen Dienst",
    "Rentnerinnen und Rentner",
    "Kraftfahrzeughaftpflichtversicherungsmakler",
)
NAMES = (
    *("Umsatzstarke Stammkundschaft", "Gelegenheitskäufer", "Retourenintensive Modekäuferinnen"),
    *("Ruheständler mit Filialbindung", "Schnäppchenjäger", "Neukundinnen ohne Newsletter"),
    *("Vertragsauslaufgefährdete", "Preisunempfindliche Vielbesteller", "Digitale Einmalkäufer"),
    *("Abwanderungsgefährdete Großkunden", "Landbevölkerung", "Studierende"),
)


def segments(k):
    """A description of k German segments of 600 customers."""
    rng = np.random.default_rng(k)
    z = np.arange(600) % k
    values = rng.normal(size=(k, len(NUMBERS)))[z] * 4 + rng.normal(size=(600, len(NUMBERS)))
    table = pd.DataFrame((50 + 9 * values).round(1), columns=NUMBERS)
    job = np.where(rng.random(600) < 0.85, z % 4, rng.integers(4, size=600))
    table["Berufsgruppe (Selbstauskunft bei Registrierung)"] = np.array(JOBS)[job]
    fast = {"split": "axis", "max_leaves": k, "algorithm": DirectForm(n_init=1)}
    pipeline = table_pipeline(table, k, random_state=0, **fast).fit(table)
    return describe(pipeline.name_clusters(list(NAMES[:k])), table, rows="Kunden")


def check(figure, found, n_bars, longest):
    """Check a slide; only words of more than `longest` characters may be cut."""
    figure.draw_without_rendering()
    ax, page = figure.axes[0], figure.bbox
    np.testing.assert_allclose(figure.get_size_inches(), (40 / 3, 7.5))
    texts = [text for text in ax.texts if text.get_text()]
    for text in texts:
        box = text.get_window_extent()
        assert text.get_fontsize() > 15.99
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1
    known = [found.title, figure.caption, *(s.name for s in found.segments)]
    known += [f"{s.rule} {s.size} {s.share:.1%}" for s in found.segments]
    known += [f"{label} {numbers}" for s in found.segments for label, numbers, _ in s.bars]
    words = set(re.split("[ _/]+", " ".join(known).replace("%", " %"))) | {"…", ""}
    for word in set(re.split("[ _/]+", " ".join(text.get_text() for text in texts))) - words:
        begins = [whole for whole in words if whole.startswith(word.removesuffix("…"))]
        assert min(map(len, begins), default=0) > longest, word
    # The outlines of the cards leave no part of the slide empty.
    frames = [frame for frame in ax.findobj(FancyBboxPatch) if frame.get_facecolor()[3] == 0]
    cards = [frame.get_window_extent() for frame in frames]
    assert len(cards) == len(found.segments)
    assert len({round(card.x0) for card in cards}) <= 5  # of lines of three and of two cards
    lines = {}
    for card in cards:
        lines.setdefault(round(card.y1), []).append(card)
    assert all(len(line) <= 3 for line in lines.values())
    for line in lines.values():
        assert min(card.x0 for card in line) < 0.02 * page.width
        assert max(card.x1 for card in line) > 0.98 * page.width
    assert sum(card.width * card.height for card in cards) > 0.7 * page.width * page.height
    bars = [bar for bar in ax.findobj(Rectangle) if bar is not ax.patch and bar.get_width() != 1]
    for card in cards:
        inside = [bar for bar in bars if card.contains(*bar.get_window_extent().min + 1)]
        assert len(inside) >= n_bars
    plt.close(figure)


@pytest.mark.filterwarnings("ignore:Clusters of a few rows")
@pytest.mark.slow
def test_nine_cards_of_short_names():
    X = load_breast_cancer(as_frame=True).data
    found = describe(IMM(9, random_state=0).fit(X), X)
    check(found.plot(style="slide"), found, 2, 99)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 9, 12])
def test_cards_of_long_names(k):
    found = segments(k)
    check(found.plot(style="slide"), found, 2 if k <= 9 else 1, 34)


def test_the_title_says_how_many_rows_keep_their_free_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(160, 2)), rng.normal([9, 9], 0.3, size=(200, 2))])
    model, weight = IMM(3, random_state=0).fit(X), np.arange(1.0, 361.0)
    stays = model.labels_ == model.free_labels_
    assert 0.5 < stays.mean() < 0.95
    for weights in (None, weight):
        found = describe(model, X, rows="Kunden", sample_weight=weights)
        share = f"{100 * np.average(stays, weights=weights):.0f} %"
        rest = f"the tree keeps {share} of them where k-means has them"
        assert found.title == f"3 segments of 360 Kunden; {rest}"
    shown = [text.get_text() for text in found.plot(style="slide").axes[0].texts]
    assert found.title in " ".join(shown)


def test_a_segment_like_all_rows_has_two_bars():
    """Its differences are too small to be mentioned, but an empty card would be a riddle."""
    rng = np.random.default_rng(0)
    X = np.repeat([[-9.0, 4.0], [0.0, 4.0], [9.0, 4.0]], 50, axis=0) + rng.normal(size=(150, 2))
    found = describe(IMM(3, random_state=0).fit(X), X)
    middle = found.segments[int(np.argmin([abs(s.bars[0][2]) for s in found.segments]))]
    assert len(middle.bars) == 2
    assert "differs most" not in " ".join(middle.lines)
