"""Real databases for tests: SQLite, DuckDB, and servers of PostgreSQL and MariaDB.

A server listens on a free port of this machine and keeps its files in a temporary folder. Servers
refuse to run as root, so root starts them as the user nobody.
"""

import contextlib
import glob
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time

import pytest

from tao_cluster.export import to_sql

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")  # of sessions
_OFFSETS = dict(zip(ZONES, ("+00:00", "-05:00", "+05:30"), strict=True))
_USER = {"user": "nobody"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}


class Database:
    """A connection and the dialect that it understands."""

    def __init__(self, dialect, connection, mark="?"):
        self.dialect, self.connection, self.mark = dialect, connection, mark

    def run(self, query, values=()):
        """Rows that a query returns, if any."""
        if self.dialect == "duckdb":
            return self.connection.execute(query, values).fetchall()
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(query, values) if values else cursor.execute(query)
            return cursor.fetchall() if cursor.description else []

    def set_zone(self, zone):
        """Set the time zone of the session."""
        statement = {
            "postgres": f"SET TIME ZONE '{zone}'",
            "duckdb": f"SET TimeZone = '{zone}'",
            "mysql": f"SET time_zone = '{_OFFSETS[zone]}'",
        }
        if self.dialect in statement:
            self.run(statement[self.dialect])

    def fill(self, types, rows):
        """Create the table "some points" with a number of each row, and insert rows.

        Parameters
        ----------
        types : dict of str
            Type of each column by name.
        rows : list of tuples
        """
        self.set_zone("UTC")
        names = [self.quoted(name) for name in ("row number", *types)]
        columns = (" ".join(pair) for pair in zip(names, ("INTEGER", *types.values()), strict=True))
        table = self.quoted("some points")
        self.run(f"DROP TABLE IF EXISTS {table}")
        self.run(f"CREATE TABLE {table} ({', '.join(columns)})")
        marks = f"({', '.join([self.mark] * len(names))})"
        values = [cell for i, row in enumerate(rows) for cell in (i, *row)]
        marks = ", ".join([marks] * len(rows))
        self.run(f"INSERT INTO {table} VALUES {marks}", values)  # noqa: S608

    def labels(self, model, *names):
        """Labels that `to_sql` gives to the rows of the table "some points"."""
        inner = to_sql(model, *names, table="some points", dialect=self.dialect)
        query = f"SELECT cluster FROM ({inner}) AS q ORDER BY {self.quoted('row number')}"  # noqa: S608
        return [label for (label,) in self.run(query)]

    def quoted(self, name):
        mark = "`" if self.dialect == "mysql" else '"'
        return mark + name.replace(mark, 2 * mark) + mark


@contextlib.contextmanager
def sqlite():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        yield Database("sqlite", connection)


@contextlib.contextmanager
def duckdb():
    module = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with contextlib.closing(module.connect()) as connection:
        yield Database("duckdb", connection)


@contextlib.contextmanager
def postgres():
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    initdb, server = _program("initdb", folders), _program("postgres", folders)
    with _folder() as folder:
        data, port = f"{folder}/data", str(_free_port())
        _run(initdb, "-D", data, "-U", "tester", "--auth=trust", "-E", "UTF8", "--no-sync")
        options = ("-h", "127.0.0.1", "-k", folder, "-F")
        with _started(server, "-D", data, "-p", port, *options):
            address = {"host": "127.0.0.1", "port": port, "user": "tester", "dbname": "postgres"}
            connection = _connected(lambda: psycopg.connect(**address, autocommit=True))
            with contextlib.closing(connection):
                yield Database("postgres", connection, "%s")


@contextlib.contextmanager
def mariadb():
    pymysql = pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    folders = ["/usr/sbin", "/usr/bin"]
    install, server = _program("mariadb-install-db", folders), _program("mariadbd", folders)
    zones = _program("mysql_tzinfo_to_sql", folders)
    with _folder() as folder:
        data, port = f"{folder}/data", _free_port()
        common = ("--no-defaults", f"--datadir={data}")
        options = ("--auth-root-authentication-method=normal", "--skip-test-db")
        _run(install, *common, *options)
        options = (f"--port={port}", f"--socket={folder}/socket", "--bind-address=127.0.0.1")
        with _started(server, *common, *options):
            address = {"host": "127.0.0.1", "port": port, "user": "root", "database": "mysql"}
            options = {"autocommit": True, "charset": "utf8mb4"}
            connection = _connected(lambda: pymysql.connect(**address, **options))
            with contextlib.closing(connection):
                database = Database("mysql", connection, "%s")
                place = ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin")
                for statement in _run(zones, *place).split(";\n"):
                    if statement.strip():
                        database.run(statement)
                database.run("CREATE DATABASE tests CHARACTER SET utf8mb4")
                database.run("USE tests")
                yield database


DATABASES = {function.__name__: function for function in (sqlite, duckdb, postgres, mariadb)}


@pytest.fixture(scope="session")
def databases():
    """All databases that are installed; tests of a module that imports this function can use it."""
    with contextlib.ExitStack() as stack:
        found = []
        for start in DATABASES.values():
            with contextlib.suppress(pytest.skip.Exception):
                found.append(stack.enter_context(start()))
        yield found


@pytest.fixture(scope="session", params=DATABASES, name="database")
def each_database(request):
    """Every database once; tests of a module that imports this function can use it."""
    with DATABASES[request.param]() as found:
        yield found


def _program(name, folders):
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"the program {name} is not installed")
    return found


@contextlib.contextmanager
def _folder():
    """A temporary folder that belongs to the user of the server."""
    with tempfile.TemporaryDirectory() as folder:
        if _USER:
            shutil.chown(folder, **_USER)
        yield folder


def _run(*command):
    done = subprocess.run(  # noqa: S603
        command, check=True, capture_output=True, text=True, cwd="/", **_USER
    )
    return done.stdout


@contextlib.contextmanager
def _started(*command):
    """A server that runs until the end of the block."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    with subprocess.Popen(command, **quiet, **_USER) as server:  # noqa: S603
        try:
            yield
        finally:
            server.terminate()
            server.wait(60)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _connected(connect, seconds=60):
    """A connection to a server that needs some time to start."""
    end = time.monotonic() + seconds
    while True:
        try:
            return connect()
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
