#include "src/setup/driver/test_golden_hosts.h"

#include <array>

namespace kgpu::driver {
namespace {

constexpr uint16_t kK80 = 0x102d;
constexpr uint16_t kGoldenV100 = 0x1db6;
constexpr uint16_t kT4 = 0x1eb8;
constexpr uint16_t kH100 = 0x2330;
constexpr uint16_t kGh200 = 0x2342;
constexpr uint16_t kGb200 = 0x2941;
constexpr uint16_t kGoldenHostB200 = 0x2901;

constexpr const char* kDebian12 =
    "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
    "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
constexpr const char* kDebian13 =
    "ID=debian\nVERSION_ID=\"13\"\nVERSION_CODENAME=trixie\n"
    "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
constexpr const char* kUbuntu22 =
    "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy\n"
    "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\n";
constexpr const char* kUbuntu24 =
    "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n"
    "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n";
constexpr const char* kRhel8 =
    "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"8.10\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 8.10 (Ootpa)\"\n";
constexpr const char* kRhel9 =
    "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.6\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 9.6 (Plow)\"\n";
constexpr const char* kRhel10 =
    "ID=\"rhel\"\nID_LIKE=\"centos fedora\"\nVERSION_ID=\"10.0\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 10.0 (Coughlan)\"\n";
constexpr const char* kRocky9 =
    "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.6\"\n"
    "PRETTY_NAME=\"Rocky Linux 9.6 (Blue Onyx)\"\n";
constexpr const char* kFedora42 =
    "ID=fedora\nVERSION_ID=42\nVARIANT_ID=server\nPRETTY_NAME=\"Fedora Linux 42\"\n";
constexpr const char* kSles15 =
    "ID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"15.6\"\n"
    "PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\n";
constexpr const char* kSles16 =
    "ID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"16.0\"\n"
    "PRETTY_NAME=\"SUSE Linux Enterprise Server 16.0\"\n";
constexpr const char* kMint22 =
    "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22.1\"\nVERSION_CODENAME=xia\n"
    "UBUNTU_CODENAME=noble\nPRETTY_NAME=\"Linux Mint 22.1\"\n";
constexpr const char* kLeap =
    "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\n"
    "PRETTY_NAME=\"openSUSE Leap 15.6\"\n";
constexpr const char* kTumbleweed =
    "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\nVERSION_ID=\"20260501\"\n"
    "PRETTY_NAME=\"openSUSE Tumbleweed\"\n";
constexpr const char* kAmazon2023 =
    "ID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\n"
    "PRETTY_NAME=\"Amazon Linux 2023.8\"\n";
constexpr const char* kRhcos =
    "ID=\"rhcos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"4.16\"\nVARIANT_ID=coreos\n"
    "OPENSHIFT_VERSION=\"4.16\"\nPRETTY_NAME=\"Red Hat Enterprise Linux CoreOS 416.94\"\n";

constexpr auto kHosts = std::to_array<GoldenHost>({
    {.name = "debian12-t4",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .has_nouveau = true},
    {.name = "debian12-t4-open",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .module = "open"},
    {.name = "debian12-k80",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kK80,
     .has_nouveau = true},
    {.name = "debian12-h100-nvidia",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-cloud-amd64",
     .gpu = kH100,
     .count = 8,
     .cuda = "13.0"},
    {.name = "debian12-t4-upgrade",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .driver = "535.309.01",
     .packages = "nvidia-kernel-dkms=535.309.01-1~deb12u1 libcuda1=535.309.01-1~deb12u1 "
                 "nvidia-kernel-common=20220217+3 nvidia-container-toolkit=1.17.8-1",
     .version = "580",
     .source = "nvidia"},
    {.name = "debian13-a100-secure",
     .os_release = kDebian13,
     .kernel = "6.12.48+deb13-amd64",
     .has_secure_boot = true},
    {.name = "ubuntu2204-v100-generic",
     .os_release = kUbuntu22,
     .kernel = "5.15.0-157-generic",
     .gpu = kGoldenV100,
     .has_nouveau = true},
    {.name = "ubuntu2404-a100-aws-secure",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-1040-aws",
     .count = 8,
     .has_secure_boot = true,
     .driver = "535.274.02",
     .packages = "linux-modules-nvidia-535-server-6.8.0-1040-aws=6.8.0-1040.42 "
                 "libnvidia-compute-535-server=535.274.02-0ubuntu0.24.04.1 "
                 "nvidia-fabricmanager-535=535.274.02-0ubuntu0.24.04.1 "
                 "nvidia-modprobe=535.274.02-0ubuntu1 nvidia-container-toolkit=1.17.8-1"},
    {.name = "ubuntu2404-b200-generic",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-85-generic",
     .gpu = kGoldenHostB200,
     .count = 8},
    {.name = "ubuntu2404-h100-nvidia",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-85-generic",
     .gpu = kH100,
     .count = 8,
     .source = "nvidia"},
    {.name = "ubuntu2204-a100-nvidia-version",
     .os_release = kUbuntu22,
     .kernel = "5.15.0-157-generic",
     .count = 8,
     .version = "550.163.01"},
    {.name = "ubuntu2404-gb200",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-1040-nvidia-64k",
     .gpu = kGb200,
     .count = 4,
     .source = "nvidia",
     .arch = "aarch64"},
    {.name = "ubuntu2404-a100-again",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-85-generic",
     .driver = "580.95.05",
     .packages = "libnvidia-compute-580-server=580.95.05-0ubuntu0.24.04.2"},
    {.name = "mint22-t4",
     .os_release = kMint22,
     .kernel = "6.8.0-85-generic",
     .gpu = kT4,
     .source = "nvidia"},
    {.name = "ubuntu2404-a100-nvidia-595",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-85-generic",
     .version = "595",
     .source = "nvidia"},
    {.name = "ubuntu2204-a100-local-repo",
     .os_release = kUbuntu22,
     .kernel = "5.15.0-157-generic",
     .file = "/root/nvidia-driver-local-repo-ubuntu2204-580.95.05_1.0-1_amd64.deb"},
    {.name = "rhel8-t4-cuda124",
     .os_release = kRhel8,
     .kernel = "4.18.0-553.79.1.el8_10.x86_64",
     .gpu = kT4,
     .cuda = "12.4"},
    {.name = "rhel9-h100-secure",
     .os_release = kRhel9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .gpu = kH100,
     .count = 8,
     .has_secure_boot = true,
     .has_nouveau = true},
    {.name = "rhel9-a100-precompiled",
     .os_release = kRhel9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .has_secure_boot = true,
     .version = "580.95.05",
     .source = "precompiled"},
    {.name = "rhel9-gh200-64k",
     .os_release = kRhel9,
     .kernel = "5.14.0-570.55.1.el9_6.aarch64+64k",
     .gpu = kGh200,
     .arch = "aarch64"},
    {.name = "rhel10-b200",
     .os_release = kRhel10,
     .kernel = "6.12.0-55.41.1.el10_0.x86_64",
     .gpu = kGoldenHostB200,
     .count = 8},
    {.name = "rocky9-v100",
     .os_release = kRocky9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .gpu = kGoldenV100},
    {.name = "rocky9-a100-other-kind",
     .os_release = kRocky9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .driver = "580.95.05",
     .packages = "kmod-nvidia-latest-dkms=580.95.05-1.el9 nvidia-driver-cuda=580.95.05-1.el9 "
                 "dkms=3.2.1-1.el9 cuda-toolkit-13-0=13.0.2-1"},
    {.name = "fedora42-a100", .os_release = kFedora42, .kernel = "6.16.10-200.fc42.x86_64"},
    {.name = "sles15sp6-h100-secure",
     .os_release = kSles15,
     .kernel = "6.4.0-150600.23.73-default",
     .gpu = kH100,
     .has_secure_boot = true},
    {.name = "leap156-v100",
     .os_release = kLeap,
     .kernel = "6.4.0-150600.23.73-default",
     .gpu = kGoldenV100},
    {.name = "sles15sp6-h100-595",
     .os_release = kSles15,
     .kernel = "6.4.0-150600.23.73-default",
     .gpu = kH100,
     .count = 8,
     .driver = "580.126.09",
     .packages = "nvidia-open-driver-G06-signed-cuda-kmp-default=580.126.09_k6.4.0-1 "
                 "nvidia-compute-utils-G06=580.126.09-1 nvidia-container-toolkit=1.17.8-1",
     .version = "595"},
    {.name = "sles16-b200",
     .os_release = kSles16,
     .kernel = "6.12.0-160000.5-default",
     .gpu = kGoldenHostB200,
     .count = 8},
    {.name = "sles15sp6-a100-distribution",
     .os_release = kSles15,
     .kernel = "6.4.0-150600.23.73-default",
     .source = "distribution"},
    {.name = "tumbleweed-a100", .os_release = kTumbleweed, .kernel = "6.17.3-1-default"},
    {.name = "al2023-a100",
     .os_release = kAmazon2023,
     .kernel = "6.1.153-175.280.amzn2023.x86_64",
     .count = 8},
    {.name = "rocky9-a100-runfile",
     .os_release = kRocky9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
    {.name = "rocky9-a100-runfile-nouveau",
     .os_release = kRocky9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .has_nouveau = true,
     .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
    {.name = "rocky9-a100-runfile-secure",
     .os_release = kRocky9,
     .kernel = "5.14.0-570.55.1.el9_6.x86_64",
     .has_secure_boot = true,
     .has_nouveau = true,
     .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
    {.name = "debian12-t4-runfile-upgrade",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .driver = "570.195.03",
     .is_by_installer = true,
     .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
    {.name = "debian12-t4-runfile-again",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .driver = "580.95.05",
     .is_by_installer = true,
     .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
    {.name = "debian12-t4-cuda-runfile",
     .os_release = kDebian12,
     .kernel = "6.1.0-56-amd64",
     .gpu = kT4,
     .has_nouveau = true,
     .file = "/root/cuda_12.4.1_550.54.15_linux.run"},
    {.name = "rhcos416-a100", .os_release = kRhcos, .kernel = "5.14.0-427.95.1.el9_4.x86_64"},
    {.name = "rhcos416-a100-toolkit",
     .os_release = kRhcos,
     .kernel = "5.14.0-427.95.1.el9_4.x86_64",
     .has_nouveau = true,
     .file = "/var/home/core/NVIDIA-Linux-x86_64-580.95.05.run",
     .toolkit = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0"},
    {.name = "ubuntu2404-a100-display",
     .os_release = kUbuntu24,
     .kernel = "6.8.0-85-generic",
     .has_display = true},
});

}  // namespace

std::vector<GoldenHost> GoldenHosts() {
  return {kHosts.begin(), kHosts.end()};
}

}  // namespace kgpu::driver
