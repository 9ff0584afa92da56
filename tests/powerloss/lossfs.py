"""A file system that loses what was not synced when its power is cut.

usage: lossfs.py STATE MOUNT

What is written is seen at once, and is durable after fsync of the file; names are durable after fsync of their folder,
not before. `mkdir MOUNT/.cut-SEED-PERCENT` cuts the power: what is durable is kept in STATE, and of each file that
percentage of the other pages, of each folder a beginning of the other changes. Unmount then, and mount again.
STATFS=none leaves out the volume's size, as simple file systems do. Needs fusepy (Debian: python3-fusepy).
"""

import errno
import os
import pickle
import random
import shutil
import stat
import sys
import time

try:
    from fusepy import FUSE, FuseOSError, Operations
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

PAGE = 4096


class Node:
    """A file or folder, as it is seen and as it is durable."""

    def __init__(self, number, is_folder):
        self.number = number
        self.is_folder = is_folder
        self.mode = 0o755 if is_folder else 0o644
        self.names = {}
        self.durable_names = {}
        self.unsynced_names = []
        self.size = 0
        self.durable_size = 0
        self.unsynced_pages = set()


class LossFs(Operations):
    """The bytes as they are seen stand in STATE/seen, the durable ones in STATE/durable, a file a node."""

    def __init__(self, state):
        self.state = state
        self.open_files = {}
        tree = os.path.join(state, "tree")
        if os.path.exists(tree):
            with open(tree, "rb") as file:
                self.nodes, self.next, self.root = pickle.load(file)
        else:
            for part in ("seen", "durable"):
                os.makedirs(os.path.join(state, part))
            self.nodes, self.next = {}, 1
            self.root = self.make(is_folder=True)

    def make(self, is_folder):
        node = Node(self.next, is_folder)
        self.nodes[node.number] = node
        self.next += 1
        if not is_folder:
            for part in ("seen", "durable"):
                open(self.path_of(node, part), "wb").close()
        return node

    def path_of(self, node, part):
        return os.path.join(self.state, part, str(node.number))

    def file(self, node, part="seen"):
        key = (node.number, part)
        if key not in self.open_files:
            self.open_files[key] = os.open(self.path_of(node, part), os.O_RDWR)
        return self.open_files[key]

    def find(self, path):
        node = self.root
        for name in path.split("/"):
            if name:
                if name not in node.names:
                    raise FuseOSError(errno.ENOENT)
                node = node.names[name]
        return node

    def name(self, path, node):
        folder, name = os.path.split(path)
        parent = self.find(folder)
        if node is None:
            parent.names.pop(name, None)
        else:
            parent.names[name] = node
        parent.unsynced_names.append((name, node))

    def getattr(self, path, fh=None):
        node = self.nodes[fh] if fh else self.find(path)
        kind = stat.S_IFDIR if node.is_folder else stat.S_IFREG
        now = time.time()
        return dict(st_mode=kind | node.mode, st_nlink=1, st_size=node.size, st_uid=0, st_gid=0,
                    st_mtime=now, st_atime=now, st_ctime=now, st_blocks=(node.size + 511) // 512)

    def readdir(self, path, fh):
        return [".", "..", *self.find(path).names]

    def mkdir(self, path, mode):
        if path.startswith("/.cut-"):
            _, seed, percent = path.split("-")
            self.cut(random.Random(int(seed)), int(percent) / 100)
            raise FuseOSError(errno.EIO)
        self.name(path, self.make(is_folder=True))

    def rmdir(self, path):
        self.name(path, None)

    def create(self, path, mode, fi=None):
        node = self.make(is_folder=False)
        node.mode = mode & 0o777
        self.name(path, node)
        return node.number

    def open(self, path, flags):
        return self.find(path).number

    def read(self, path, size, offset, fh):
        node = self.nodes[fh]
        return os.pread(self.file(node), max(0, min(size, node.size - offset)), offset)

    def write(self, path, data, offset, fh):
        node = self.nodes[fh]
        os.pwrite(self.file(node), data, offset)
        node.size = max(node.size, offset + len(data))
        node.unsynced_pages.update(range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1))
        return len(data)

    def truncate(self, path, length, fh=None):
        node = self.nodes[fh] if fh else self.find(path)
        os.ftruncate(self.file(node), length)
        node.size = length
        node.unsynced_pages = {page for page in node.unsynced_pages if page * PAGE < length}
        if length % PAGE:
            node.unsynced_pages.add(length // PAGE)

    def unlink(self, path):
        self.name(path, None)

    def rename(self, old, new):
        node = self.find(old)
        self.name(old, None)
        self.name(new, node)

    def fsync(self, path, datasync, fh):
        node = self.nodes[fh] if fh else self.find(path)
        self.keep(node, node.unsynced_pages, node.size)

    def fsyncdir(self, path, datasync, fh):
        node = self.find(path)
        self.keep_names(node, len(node.unsynced_names))

    def flush(self, path, fh):
        return 0

    def release(self, path, fh):
        return 0

    def access(self, path, amode):
        self.find(path)

    def chmod(self, path, mode):
        self.find(path).mode = mode & 0o777

    def chown(self, path, uid, gid):
        self.find(path)

    def utimens(self, path, times=None):
        self.find(path)

    def statfs(self, path):
        if os.environ.get("STATFS") == "none":
            return {}
        volume = os.statvfs(self.state)
        return {key: getattr(volume, key) for key in (
            "f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_frsize", "f_namemax", "f_files", "f_ffree")}

    def keep(self, node, pages, size):
        """Makes pages of a file durable, and its size."""
        os.ftruncate(self.file(node, "durable"), size)
        for page in pages:
            bytes_ = os.pread(self.file(node), max(0, min(PAGE, size - page * PAGE)), page * PAGE)
            os.pwrite(self.file(node, "durable"), bytes_, page * PAGE)
        node.durable_size = size
        node.unsynced_pages = set()

    def keep_names(self, node, count):
        """Makes the first changes of a folder durable, and forgets the others."""
        for name, child in node.unsynced_names[:count]:
            if child is None:
                node.durable_names.pop(name, None)
            else:
                node.durable_names[name] = child
        node.unsynced_names = []

    def cut(self, chance, share):
        for node in self.nodes.values():
            if node.is_folder:
                kept = 0
                while kept < len(node.unsynced_names) and chance.random() < share:
                    kept += 1
                self.keep_names(node, kept)
                node.names = dict(node.durable_names)
            else:
                size = node.size if chance.random() < share else node.durable_size
                self.keep(node, {page for page in node.unsynced_pages if chance.random() < share}, size)
                node.size = size
        for descriptor in self.open_files.values():
            os.close(descriptor)
        self.open_files = {}
        self.forget_unnamed()
        for node in self.nodes.values():
            if not node.is_folder:
                shutil.copyfile(self.path_of(node, "durable"), self.path_of(node, "seen"))
        with open(os.path.join(self.state, "tree"), "wb") as file:
            pickle.dump((self.nodes, self.next, self.root), file)

    def forget_unnamed(self):
        named, waiting = {self.root.number}, [self.root]
        while waiting:
            for child in waiting.pop().names.values():
                named.add(child.number)
                waiting.append(child)
        for number in self.nodes.keys() - named:
            node = self.nodes.pop(number)
            if not node.is_folder:
                for part in ("seen", "durable"):
                    os.unlink(self.path_of(node, part))


if __name__ == "__main__":
    FUSE(LossFs(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0,
         big_writes=True, max_write=131072)
