#!/usr/bin/env bash
# Prints what a host says of itself to those who ask for GPUs, as one text: the form of
# tests/data/hosts/<name>/host.tree (testing/host_tree.h explains it). No serial numbers, no names
# of the machine, no addresses of its network.
#   record.sh [ROOT]
set -uo pipefail
top=${1:-/}
cd "$top" || exit 1

text() { # FILE [PATTERN]: the file, or its lines that match
  [ -r "$1" ] && [ -f "$1" ] || return 0
  printf '%s <<<\n' "$1"
  if [ $# -gt 1 ]; then grep -E "$2" "$1"; else cat "$1" && tail_newline "$1"; fi
  printf '>>>\n'
}
tail_newline() { [ -z "$(tail -c 1 "$1")" ] || echo; }
line() { # FILE …
  local file value
  for file in "$@"; do
    value=''
    [ ! -f "$file" ] || value=$(head -n 1 "$file" 2>/dev/null)
    [ -z "$value" ] || printf '%s = %s\n' "$file" "$value"
  done
}
hex() { sed 's/^0x//' "$1" 2>/dev/null; }
uevent() { sed -n "s/^$2=//p" "$1/uevent" 2>/dev/null | tr 'A-F' 'a-f'; }

pci_function() { # ADDRESS
  local at=sys/bus/pci/devices/$1 class id subsystem parent option=''
  class=$(uevent "$at" PCI_CLASS) id=$(uevent "$at" PCI_ID) subsystem=$(uevent "$at" PCI_SUBSYS_ID)
  if [ -z "$class" ]; then
    class=$(hex "$at/class") id=$(hex "$at/vendor"):$(hex "$at/device")
    subsystem=$(hex "$at/subsystem_vendor"):$(hex "$at/subsystem_device")
  fi
  class=000000$class
  [ ! -L "$at/driver" ] || option+=" driver=$(basename "$(readlink "$at/driver")")"
  [ ! -r "$at/sriov_totalvfs" ] || option+=" vfs=$(cat "$at/sriov_totalvfs") numvfs=$(cat "$at/sriov_numvfs")"
  [ ! -L "$at/iommu_group" ] || option+=" group=$(basename "$(readlink "$at/iommu_group")")"
  parent=$(basename "$(dirname "$(readlink "$at")")")
  [ ! -e "sys/bus/pci/devices/$parent" ] || option+=" parent=$parent"
  # The inventory of GPUs reads the files, not the uevent that the features are made of.
  [[ ${class: -6} != 03* ]] || option+=' no-uevent'
  printf '@pci %s class=%s id=%s subsystem=%s%s\n' "$1" "${class: -6}" "$id" "$subsystem" "$option"
}
# A parent stands before its children: the folders are as deep as the bus is.
pci_functions() {
  local path
  for path in sys/bus/pci/devices/*; do
    [ -e "$path" ] || continue
    printf '%s %s\n' "$(readlink "$path" | tr -cd / | wc -c)" "$(basename "$path")"
  done | sort -n -k1,1 -k2,2 | while read -r _ path; do pci_function "$path"; done
}
cpus() {
  local list=sys/devices/system/cpu/present sockets threads
  [ -r $list ] || return 0
  sockets=$(cat sys/devices/system/cpu/cpu*/topology/physical_package_id 2>/dev/null | sort -u | wc -l)
  threads=$(sed 's/[,-]/\n/g' sys/devices/system/cpu/cpu0/topology/thread_siblings_list 2>/dev/null | wc -l)
  printf '@cpus %s sockets=%s threads=%s\n' "$(cat $list)" "$((sockets > 0 ? sockets : 1))" \
    "$((threads > 0 ? threads : 1))"
}

echo "# Recorded by tests/gpu/record.sh."
echo '[]'
text proc/modules
text proc/devices
text proc/filesystems
text proc/cpuinfo '^(processor|vendor_id|cpu family|model|model name|stepping|flags|Features)[[:space:]]*:'
text proc/driver/nvidia/params
for file in proc/driver/nvidia/version proc/driver/nvidia/gpus/*/information; do text "$file"; done
while read -r file; do text "$file"; done < <(find proc/driver/nvidia/capabilities -type f 2>/dev/null | sort)
text etc/os-release
text usr/lib/os-release
release=$(cat proc/sys/kernel/osrelease 2>/dev/null)
text "boot/config-$release" '^CONFIG_(NO_HZ|PREEMPT|MODULE_SIG|SECURITY_SELINUX|DRM_NOUVEAU|VIRTIO_PCI)'
line proc/sys/kernel/osrelease proc/version sys/module/nvidia/version sys/module/nvidia_uvm/version \
  sys/class/dmi/id/{sys_vendor,product_name,board_vendor,board_name,bios_version}
for folder in sys/module/{nvidia,nvidia_uvm,nvidia_modeset,nvidia_drm,nouveau,vfio_pci}; do
  [ ! -d "$folder" ] || echo "$folder/"
done
pci_functions
cpus
