"""Peak memory of fits in addition to X, of all methods.

    python -m benchmarks.memory
    python -m benchmarks.memory --rows 200000 --columns 50 --only oblique

The data are those of the table `speed`: blobs in double precision. Each method explains the same
k-means clustering, after a small fit that compiles its kernels. The peak is that of the process
during the fit, less its memory before the fit (Linux).
"""

from threadpoolctl import threadpool_limits

from benchmarks.evidence.pages.words import markdown
from benchmarks.evidence.tables.speed import SIZE, methods
from benchmarks.shared import parser, peak, start_memory


def main():
    """Print the table."""
    arguments = parser(__doc__)
    for name, default in zip(("--rows", "--columns", "--clusters"), SIZE, strict=True):
        arguments.add_argument(name, type=int, default=default)
    arguments.add_argument("--only", default="", help="methods that have this part in their name")
    options = arguments.parse_args()
    size, lines = (options.rows, options.columns, options.clusters), []
    with threadpool_limits(limits=1):
        small = methods(500, *size[1:])
        for name, fit in methods(*size).items():
            if options.only in name:
                small[name]()  # compiles
                n_bytes = grown(fit)
                per_row, multiple = n_bytes / size[0], n_bytes / (8 * size[0] * size[1])
                line = {"bytes per row": f"{per_row:.0f}", "multiples of X": f"{multiple:.1f}"}
                lines.append({"method": name} | line)
    print(markdown(lines))


def grown(function):
    """Return the bytes by which the process grows at most during a call."""
    before = start_memory()
    function()
    return peak() - before


if __name__ == "__main__":
    main()
