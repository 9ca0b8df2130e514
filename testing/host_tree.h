// A host as one text: unpacked into a folder it is what /proc, /sys and /etc of such a host look
// like, so that a recorded server of hundreds of files is one file that can be read and compared.
//
//   [sys/module/kvm_amd/parameters]   the folder that the lines below are in
//   sev = Y                           a file with one line of text
//   driver -> ../../bus/pci/…         a symbolic link
//   empty/                            a folder
//   os-release <<<                    a file of several lines, up to a line ">>>"
//   @pci 0000:17:00.0 class=020000 id=8086:159b subsystem=8086:0002 …   a PCI function
//   @cpus 0-63 sockets=2 threads=2 …                                     all of the CPUs
//   # …                               is not read
#pragma once

#include <string>
#include <string_view>

#include "testing/temp_dir.h"

namespace kgpu {

// Writes the tree below `folder` of `dir` ("" for its top).
// Throws std::runtime_error, which names the line, on a text that is no such tree.
//
// @pci ADDRESS takes class=CCCCCC, id=VVVV:DDDD, subsystem=VVVV:DDDD, driver=NAME, vfs=TOTAL,
// numvfs=N, group=N, group_type=TEXT, iommu=NAME, net=NAME (an interface of it), parent=ADDRESS,
// and "no-uevent", for a kernel that shows the ids in files of their own alone.
// @cpus LIST takes sockets=N, threads=N, offline=LIST, governor=NAME and base_khz=N (frequency
// policies), and "no-smt", for a kernel before 4.19, which does not say by itself whether cores
// have threads. Files of sysfs that nobody reads are not made: each costs the tests time.
void UnpackHost(std::string_view tree, const TempDir& dir, std::string_view folder = "");

// The text of tests/data/hosts/<name>/host.tree, unpacked, with the CPU's answers beside it.
void UnpackRecordedHost(std::string_view name, const TempDir& dir);

}  // namespace kgpu
