"""The site: how Sphinx makes it. ``sphinx-build -W -b html docs OUT``, with the extra "docs"."""

import inspect
import os
import re
import warnings
from pathlib import Path

import matplotlib as mpl
from sphinx_gallery.scrapers import matplotlib_scraper

import tao_cluster

os.environ.setdefault("OMP_NUM_THREADS", "1")
mpl.use("agg")
# A warning in an example is an error; those of the site's own tools are not ours.
warnings.filterwarnings("error", module="__main__")

ROOT = Path(__file__).parents[1]

project = "tao-cluster"
author = "the tao-cluster developers"
copyright = "the tao-cluster developers"  # noqa: A001
version = release = tao_cluster.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
templates_path = ["_templates"]
nitpicky = True
# What other libraries document: the site is made without a network.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|scipy|pandas|matplotlib|dask|distributed)\..*")]
suppress_warnings = ["config.cache"]  # functions in the settings of the gallery

highlight_language = "none"  # blocks that name no language are shell lines and tables
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
# "|weight|" is the size of a weight, not a name of something.
rst_prolog = r".. |weight| replace:: \|weight\|"
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "groupwise"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "tao-cluster"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "logo": {"text": "tao-cluster"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
}
html_sidebars = {name: [] for name in ("index", "start", "choosing", "results/index")}


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "image_scrapers": (matplotlib_scraper,),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "doc_module": ("tao_cluster", "greedy"),
    "backreferences_dir": None,
}


def skip_member(app, kind, name, member, skip, options):
    """Members that classes inherit from other libraries are documented there."""
    del app, name, options
    if kind != "class" or not callable(member):
        return skip
    module = getattr(inspect.unwrap(member), "__module__", None) or "builtins"
    return skip or not module.startswith(("tao_cluster", "greedy"))


def parts_from_elsewhere(app, name, source):
    """CONTRIBUTING.md as a page, with links between pages; results, where there are some."""
    del app
    if name == "join/contributing":
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\(docs/", "](../", text)
    if name == "index" and not any((ROOT / "docs" / "results").glob("*.md")):
        source[0] = source[0].replace("results/index\n", "")


def setup(app):
    """Sphinx calls that."""
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", parts_from_elsewhere)
