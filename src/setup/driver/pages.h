// The documentation pages that steps follow, each named once.
#pragma once

#include <string_view>

namespace kgpu::driver::pages {

// NVIDIA's driver installation guide; chapters by distribution.
inline constexpr std::string_view kGuide =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/";
inline constexpr std::string_view kDebian =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/debian.html";
inline constexpr std::string_view kUbuntu =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ubuntu.html";
inline constexpr std::string_view kRhel =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
    "red-hat-enterprise-linux.html";
inline constexpr std::string_view kFedora =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/fedora.html";
inline constexpr std::string_view kSuse =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/suse.html";
inline constexpr std::string_view kAmazon =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/amazon-linux.html";
inline constexpr std::string_view kRunFile =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/runfile-installer.html";
inline constexpr std::string_view kLocalRepo =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
    "choose-an-installation-method.html";
inline constexpr std::string_view kPostInstall =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
    "post-installation-actions.html";
inline constexpr std::string_view kSecureBoot =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/secure-boot.html";
inline constexpr std::string_view kVersionLock =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking.html";
inline constexpr std::string_view kPreInstall =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
    "pre-installation-actions.html";
// Modules that NVIDIA builds for Red Hat's kernels, and the key that signs them.
inline constexpr std::string_view kPrecompiled =
    "https://github.com/NVIDIA/yum-packaging-precompiled-kmod";
inline constexpr std::string_view kPersistence =
    "https://docs.nvidia.com/deploy/driver-persistence/persistence-daemon.html";
inline constexpr std::string_view kFabricManager =
    "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/";
// The distributions' own.
inline constexpr std::string_view kDebianWiki = "https://wiki.debian.org/NvidiaGraphicsDrivers";
inline constexpr std::string_view kDebianSources = "https://wiki.debian.org/SourcesList";
inline constexpr std::string_view kDebianSecureBoot = "https://wiki.debian.org/SecureBoot";
inline constexpr std::string_view kUbuntuServer =
    "https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/";
inline constexpr std::string_view kUbuntuSecureBoot =
    "https://wiki.ubuntu.com/UEFI/SecureBoot/DKMS";
// By the packager of SUSE's modules: package generations, which repository, what must match.
inline constexpr std::string_view kSuseOpen =
    "https://sndirsch.github.io/nvidia/2026/02/22/nvidia-drivers-G07.html";
inline constexpr std::string_view kAmazonOwn =
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html";
inline constexpr std::string_view kDriverToolkit =
    "https://docs.redhat.com/en/documentation/openshift_container_platform/4.16/html/"
    "specialized_hardware_and_driver_enablement/driver-toolkit";

}  // namespace kgpu::driver::pages
