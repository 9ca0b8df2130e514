#include "src/diagnose/image/facts.h"

#include <gtest/gtest.h>

namespace kgpu::image {
namespace {

struct PathRow {
  std::string_view path;
  LibraryKind kind;
  std::string_view version;  // empty: nothing
};

TEST(LibraryPathTest, TellsWhichCudaAFileIsOf) {
  constexpr LibraryKind kRuntime = LibraryKind::kRuntime;
  constexpr LibraryKind kCompat = LibraryKind::kCompat;
  constexpr LibraryKind kDriver = LibraryKind::kDriver;
  constexpr PathRow kRows[] = {
      {"usr/local/cuda-12.4/lib64/libcudart.so.12.4.127", kRuntime, "12.4"},
      {"usr/local/cuda-12.4/lib64/libcudart.so.12", kRuntime, "12"},
      {"usr/local/cuda/lib64/libcudart.so.11.0", kRuntime, "11"},
      {"usr/local/cuda/lib64/libcudart.so.11.8.89", kRuntime, "11.8"},
      {"usr/local/cuda/lib64/libcudart.so.10.2", kRuntime, "10.2"},
      {"opt/torch/lib/libcudart-d0da41ae.so.11.0", kRuntime, "11"},
      {"usr/lib/python3/site-packages/nvidia_cuda_runtime_cu12-12.1.105.dist-info", kRuntime,
       "12.1"},
      {"usr/lib/python3/site-packages/nvidia_cuda_runtime-13.0.48.dist-info/", kRuntime, "13.0"},
      {"usr/local/cuda-12.4/compat/libcuda.so.550.54.15", kCompat, "550.54.15"},
      {"usr/local/cuda/compat/lib.real/libcuda.so.560.35.05", kCompat, "560.35.05"},
      {"usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", kDriver, "535.104.05"},
      {"usr/lib/x86_64-linux-gnu/libcuda.so.1", kDriver, ""},
      {"usr/local/cuda/lib64/stubs/libcuda.so", kDriver, ""},
      {"usr/local/cuda/lib64/libcudart.so", kRuntime, ""},
      {"usr/local/cuda/lib64/libcudart_static.a", kRuntime, ""},
      {"usr/lib/libcudartx.so.12", kRuntime, ""},
      {"usr/lib/libcudart.so.twelve", kRuntime, ""},
      {"some.dist-info", kRuntime, ""},
      {"", kRuntime, ""},
  };
  for (const PathRow& row : kRows) {
    CudaLibrary library;
    EXPECT_EQ(ReadLibraryPath(row.path, library), !row.version.empty()) << row.path;
    if (!row.version.empty()) {
      EXPECT_EQ(library.version, row.version) << row.path;
      EXPECT_EQ(library.kind, row.kind) << row.path;
    }
  }
}

TEST(ImageFactsTest, OfEqualVariablesTheLastCounts) {
  ImageFacts image;
  image.env = {"A=1", "AB=2", "A=3", "broken"};
  EXPECT_EQ(EnvOf(image, "A"), "3");
  EXPECT_EQ(EnvOf(image, "broken"), "");
}

}  // namespace
}  // namespace kgpu::image
