"""A shell in a copy of this machine that vanishes, with a simulated GPU host.

The copy is an overlay over the root file system in namespaces of its own (mounts, processes, network,
host name): whatever a command writes goes into memory and is lost, and no service of the machine can
be reached. Needs root.
"""
import os
import pathlib
import re
import select
import shlex
import shutil
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
HOST = "/tmp/host"
DEFAULT_PROFILE = "8xA100-SXM4-80GB"
HOST_NAME = "gpu-node-1"

# $1 the repository, $2 the build, $3 the folder that commands and their output pass through,
# $4 the name of the host.
ENTER = r"""
set -eu
root=$3/root
mkdir "$root"
mount -t tmpfs -o mode=755 tmpfs "$root"
cd "$root"
mkdir layer work repo repo-work all
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/layer,workdir=$root/work" all
cd all
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
for folder in tmp run var/tmp dev mnt; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
rm -rf var/run etc/kgpu var/lib/kgpu var/lib/kubelet etc/cdi etc/kubernetes root/.kube
ln -s /run var/run
mkdir -p dev/pts dev/shm mnt/kgpu mnt/build run/docs root
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/tty c 5 0
mount -t overlay overlay -o "lowerdir=$1,upperdir=$root/repo,workdir=$root/repo-work" mnt/kgpu
mount --bind "$2" mnt/build
mount -o remount,bind,ro mnt/build
mount --bind "$3" run/docs
mkdir -p etc var/lib
echo "$4" >etc/hostname
hostname "$4"
ip link set lo up 2>/dev/null || true
exec chroot . /bin/bash --noprofile --norc -c '
cd /mnt/kgpu
set -o pipefail
echo ready
while read -r docs_command; do
  . "$docs_command" >"$docs_command.out" 2>&1 </dev/null
  echo "$?"
done'
"""


# What a machine says that forbids namespaces, mounts or devices; anything else is our mistake.
FORBIDDEN = re.compile(r"^(unshare|mount|mknod): .*(operation not permitted|permission denied)",
                       re.IGNORECASE | re.MULTILINE)


class Unavailable(Exception):
    """This machine cannot make a sandbox; the text says why."""


class Gone(Exception):
    """The shell ended or a command took too long."""


def environment(programs):
    return {
        "PATH": f"/mnt/build/{programs.name}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "USER": "root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "100",
        "TZ": "UTC",
        "HOST": HOST,
    }


class Sandbox:
    """One shell; `run` gives it commands one after the other. A context manager."""

    def __init__(self, programs, profile=None, limit=120):
        self.limit = limit
        self.count = 0
        self.profile = profile
        self.programs = pathlib.Path(programs).resolve()

    def __enter__(self):
        if os.geteuid() != 0:
            raise Unavailable("needs root, for namespaces and device nodes")
        if not shutil.which("unshare"):
            raise Unavailable("needs unshare (package util-linux)")
        self.exchange = pathlib.Path(tempfile.mkdtemp(prefix="kgpu-docs-"))
        self.shell = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--uts", "--ipc",
             "bash", "-c", ENTER, "enter", TOP, self.programs.parent, self.exchange, HOST_NAME],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(self.programs), text=True, bufsize=1)
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def prepare(self):
        """Waits for the shell, and gives it its host."""
        if self.shell.stdout.readline().strip() != "ready":
            reason = self.shell.stderr.read().strip()
            if FORBIDDEN.search(reason):
                raise Unavailable("cannot make namespaces, mounts or devices here: " + reason)
            raise Gone("cannot make the copy of this machine: " + reason)
        if self.profile:
            self.must(f"kgpu sim create {HOST} --profile {shlex.quote(self.profile)}")
            self.must(f"export KGPU_HOST_ROOT={HOST} KGPU_ENGINE_ROOT=/")

    def __exit__(self, *_):
        self.shell.kill()
        self.shell.wait()
        for pipe in (self.shell.stdin, self.shell.stdout, self.shell.stderr):
            pipe.close()
        shutil.rmtree(self.exchange, ignore_errors=True)

    def run(self, command):
        """Runs the text in the shell; returns (exit code, output)."""
        self.count += 1
        name = f"command-{self.count}"
        (self.exchange / name).write_text(command + "\n")
        try:
            self.shell.stdin.write(f"/run/docs/{name}\n")
            self.shell.stdin.flush()
        except BrokenPipeError as error:
            raise Gone("the shell has ended") from error
        ready, _, _ = select.select([self.shell.stdout], [], [], self.limit)
        output = self.exchange / (name + ".out")
        said = output.read_text(errors="replace") if output.exists() else ""
        if not ready:
            raise Gone(f"still running after {self.limit} s; its output so far:\n{said}")
        answer = self.shell.stdout.readline().strip()
        if not answer:
            raise Gone(f"it ended the shell; its output:\n{said}")
        return int(answer), output.read_text(errors="replace")

    def must(self, command):
        code, output = self.run(command)
        if code != 0:
            raise Gone(f"preparing: {command}: exit code {code}\n{output}")
        return output
