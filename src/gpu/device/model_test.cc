#include "src/gpu/device/model.h"

#include <gtest/gtest.h>

#include <string>

namespace kgpu::device {
namespace {

TEST(ModelIdTest, KnowsModelsByPciIdOrName) {
  struct Case {
    std::string name;
    uint16_t pci_device_id;
    std::string model;
  };
  for (const Case& c :
       {Case{"NVIDIA A100-SXM4-80GB", 0x20b2, "A100-SXM4-80GB"},
        Case{"A100-SXM4-80GB", 0x20b2, "A100-SXM4-80GB"}, Case{"Tesla T4", 0x1eb8, "T4"},
        Case{"NVIDIA H100 80GB HBM3", 0x2330, "H100-SXM5-80GB"},
        Case{"NVIDIA H100 PCIe", 0x2331, "H100-PCIE-80GB"},
        Case{"NVIDIA H200", 0x2335, "H200-SXM5-141GB"}, Case{"NVIDIA L40S", 0x26b9, "L40S"},
        Case{"Tesla K80", 0x102d, "K80"}, Case{"Quadro K620", 0x13bb, "Quadro-K620"},
        // Not in the table: the name decides.
        Case{"NVIDIA GeForce RTX 4090", 0x2684, "GeForce-RTX-4090"},
        Case{"NVIDIA L40S", 0xffff, "L40S"}, Case{"Quadro K620", 0, "Quadro-K620"},
        Case{"Tesla V100-SXM2-16GB", 0, "V100-SXM2-16GB"},
        Case{"NVIDIA H100 80GB HBM3", 0, "H100-80GB-HBM3"}}) {
    EXPECT_EQ(ModelId(c.name, c.pci_device_id), c.model) << c.name;
  }
}

// Source: awslabs/amazon-eks-ami#2443, NVIDIA/gpu-operator#267, NVIDIA/k8s-device-plugin#739, the
// PCI ID database (25b6 is "A2 / A16"), and the names of virtual GPUs in NVIDIA's guide.
TEST(ModelIdTest, TheDriversNameDecidesBetweenProductsOfOnePciId) {
  struct Case {
    std::string name;
    uint16_t pci_device_id;
    std::string model;
  };
  for (const Case& c :
       {Case{"NVIDIA A16", 0x25b6, "A16"}, Case{"NVIDIA A2", 0x25b6, "A2"},
        Case{"NVIDIA L4-12Q", 0x27b8, "L4-12Q"}, Case{"GRID T4-4C", 0x1eb8, "GRID-T4-4C"},
        Case{"NVIDIA A10-4Q", 0x2236, "A10-4Q"}, Case{"NVIDIA A40-48Q", 0x2235, "A40-48Q"},
        Case{"GRID V100D-8Q", 0x1db6, "GRID-V100D-8Q"}, Case{"GRID M60-2B", 0x13f2, "GRID-M60-2B"},
        Case{"GRID A100-40C", 0x20f1, "GRID-A100-40C"}, Case{"NVIDIA A100-40C", 0x20f1, "A100-40C"},
        Case{"GRID A100D-1-10C", 0x20b5, "GRID-A100D-1-10C"},
        Case{"NVIDIA A100-1-5CME", 0x20f1, "A100-1-5CME"},
        Case{"NVIDIA H100XM-80C", 0x2330, "H100XM-80C"},
        Case{"NVIDIA PG506-232", 0x20b5, "PG506-232"},
        // The same products, spelled otherwise.
        Case{"NVIDIA A100 80GB PCIe", 0x20b5, "A100-PCIE-80GB"},
        Case{"NVIDIA GH200 480GB", 0x2342, "GH200-96GB"},
        Case{"NVIDIA B200", 0x2901, "B200-SXM6-180GB"},
        Case{"NVIDIA RTX 6000 Ada Generation", 0x26b1, "RTX-6000-Ada"},
        Case{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 0x2bb5, "RTX-PRO-6000-Blackwell"},
        Case{"NVIDIA RTX A6000", 0x2230, "RTX-A6000"}, Case{"NVIDIA A10G", 0x2237, "A10G"},
        Case{"", 0x25b6, "A2"}}) {
    EXPECT_EQ(ModelId(c.name, c.pci_device_id), c.model) << c.name;
  }
}

TEST(ModelIdTest, IsALabelValueWhateverTheDriverSays) {
  EXPECT_EQ(ModelId("", 0x1234), "PCI-10DE-1234");
  EXPECT_EQ(ModelId("\n??", 0x1234), "PCI-10DE-1234");
  EXPECT_EQ(ModelId("../../etc/passwd", 0), "etc-passwd");
  EXPECT_EQ(ModelId("A\x1b[31mB (rev. a1)", 0), "A-31mB-rev.-a1");
  EXPECT_EQ(ModelId(std::string(200, 'x'), 0), std::string(63, 'x'));
  EXPECT_EQ(ModelId(std::string(62, 'x') + "--y", 0), std::string(62, 'x'));
}

TEST(ArchitectureNameTest, PrefersTheDriversNumber) {
  EXPECT_EQ(ArchitectureName(7, std::nullopt), "ampere");
  EXPECT_EQ(ArchitectureName(10, ComputeCapability{9, 0}), "blackwell");
}

TEST(ArchitectureNameTest, FallsBackToTheComputeCapability) {
  struct Case {
    ComputeCapability compute;
    std::string name;
  };
  for (const Case& c : {Case{{3, 7}, "kepler"}, Case{{5, 0}, "maxwell"}, Case{{6, 1}, "pascal"},
                        Case{{7, 0}, "volta"}, Case{{7, 5}, "turing"}, Case{{8, 0}, "ampere"},
                        Case{{8, 9}, "ada"}, Case{{9, 0}, "hopper"}, Case{{10, 0}, "blackwell"},
                        Case{{12, 0}, "blackwell"}, Case{{99, 0}, ""}}) {
    EXPECT_EQ(ArchitectureName(std::nullopt, c.compute), c.name);
    EXPECT_EQ(ArchitectureName(0xffffffff, c.compute), c.name);
  }
  EXPECT_EQ(ArchitectureName(std::nullopt, std::nullopt), "");
}

TEST(BrandNameTest, NamesWhatItKnows) {
  EXPECT_EQ(BrandName(2), "Tesla");
  EXPECT_EQ(BrandName(14), "NVIDIA");
  EXPECT_EQ(BrandName(0), "");
  EXPECT_EQ(BrandName(1000), "");
}

}  // namespace
}  // namespace kgpu::device
