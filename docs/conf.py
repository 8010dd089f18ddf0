"""Settings of Sphinx: ``sphinx-build -W -b html docs OUT`` builds the site (extra "docs")."""

import inspect
import os
import re
import shutil
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
# Pages whose text is a file of the repository, and where its links to docs/ lead from there.
ELSEWHERE = {
    "join/contributing": ("CONTRIBUTING.md", "../"),
    "changelog": ("CHANGELOG.md", ""),
}
# Links to what GitHub shows, and what the site makes of them.
ON_THE_SITE = {
    r"\]\(((?:\.\./)*)\.\./notebooks/": r"](\1notebooks/",
    r"\[([^\]]+)\]\((?:\.\./)*(SUPPORT|benchmarks/README)\.md[^)]*\)": r"\1 (`\2.md`)",
    r"(\]\([./]*)examples\)": r"\1gallery/index.rst)",
    r"<!-- toctree\n(.*?)-->": r"```{toctree}\n\1```",
}

project = "tao-cluster"
author = "the tao-cluster developers"
copyright = "the tao-cluster developers"  # noqa: A001
version = release = tao_cluster.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # formulas without a network
]
exclude_patterns = ["_build", "examples", "gallery/*.ipynb"]
templates_path = ["_templates"]
nitpicky = True
# What other libraries document: the site is made without a network.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|scipy|pandas|matplotlib|dask|distributed)\..*")]
suppress_warnings = [
    "config.cache",  # functions in the settings of the gallery
    "mystnb.unknown_mime_type",  # notebooks: the page of a model also has formats of editors
]

highlight_language = "none"  # blocks that name no language are shell lines and tables
myst_enable_extensions = ["colon_fence", "dollarmath"]
nb_execution_mode = "off"  # notebooks are stored with their outputs
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
html_title = f"tao-cluster {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_show_sourcelink = False
# Pages of tables have the whole width.
WIDE = ["guide/comparison", "guide/lambda", "guide/methods"]
WIDE += [f"results/{path.stem}" for path in Path(__file__).parent.glob("results/*.md")]
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"]} | {name: [] for name in WIDE},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "logo": {"text": f"tao-cluster {release}"},
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


def summary_of_delegates(app, kind, name, thing, options, lines):
    """Show the summary of a method that is a function of a module, and link to the function."""
    del app, name, options
    if kind == "method" and thing.__qualname__ == thing.__name__:
        home = ".".join(thing.__module__.split(".")[:2])
        home = home.removesuffix(".saving").removesuffix(".description")
        summary = "\n".join(lines).strip().split("\n\n")[0]
        lines[:] = [*summary.split("\n"), "", f"See :func:`{home}.{thing.__name__}`.", ""]


def page_for_the_site(app, name, source):
    """Turn a page as GitHub shows it, where a table of contents is a comment, into one of the site.

    The texts of CONTRIBUTING.md and CHANGELOG.md become pages, too.
    """
    del app
    if name in ELSEWHERE:
        file, links = ELSEWHERE[name]
        source[0] = (ROOT / file).read_text(encoding="utf-8").replace("](docs/", f"]({links}")
    for on_github, on_the_site in ON_THE_SITE.items():
        source[0] = re.sub(on_github, on_the_site, source[0], flags=re.DOTALL)


def copy_notebooks(app):
    """Copy the notebooks into the folder of the site; unchanged files keep their times."""
    target = Path(app.srcdir) / "notebooks"
    target.mkdir(exist_ok=True)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy2(path, target)


def setup(app):
    """Connect the functions above to the events of Sphinx."""
    app.connect("builder-inited", copy_notebooks)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", summary_of_delegates)
    app.connect("source-read", page_for_the_site)
