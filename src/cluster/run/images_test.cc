#include "src/cluster/run/images.h"

#include <gtest/gtest.h>

#include <utility>

#include "src/cluster/run/placement.h"
#include "testing/status_matchers.h"

namespace kgpu::run {
namespace {

TEST(ImagesTest, ATagNamesItsCudaByTheCustomsOfTheField) {
  for (const auto& [image, cuda] : {
           std::pair("nvidia/cuda:12.4.1-base-ubuntu22.04", "12.4.1"),
           {"docker.io/nvidia/cuda:11.8.0-cudnn8-devel-ubi8", "11.8.0"},
           {"registry.example.com:5000/mirror/nvidia/cuda:10.2-base", "10.2"},
           {"nvidia/cuda:12.4.1", "12.4.1"},
           {"nvidia/cuda:12.4.1-base@sha256:0123", "12.4.1"},
           {"nvidia/cuda:latest", ""},
           {"nvidia/cuda", ""},
           {"nvidia/cuda-samples:12.4.1-base", ""},
           {"someone/cudaapp:12.4.1-base", ""},
           {"pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "12.4"},
           {"app:cuda11.8.0", "11.8.0"},
           {"app:1.0-cuda12", ""},
           {"app:1.0-cuda12.x", ""},
           {"vllm/app:v0.6-cu121", "12.1"},
           {"app:cu118-py310", "11.8"},
           {"app:2.4.0_cu124-slim", "12.4"},
           {"app:cuda12.4_cudnn9", "12.4"},
           {"app:cu12", ""},
           {"app:cu1234", ""},
           {"app:cuXYZ", ""},
           {"app:focus121", ""},
           {"host:5000/cu121/app", ""},
           {"app-cuda12.4:1.0", ""},
           {"", ""},
           {":", ""},
       }) {
    EXPECT_EQ(CudaOfTag(image), cuda) << image;
  }
}

TEST(ImagesTest, TheVersionsOfBuiltinImagesAreThoseOfTheirTags) {
  for (const BuiltinImage& image : BuiltinImages()) {
    EXPECT_OK(ParseCuda(image.cuda, image.source));
    if (image.source == "its tag") {
      EXPECT_EQ(CudaOfTag(image.image), image.cuda);
    }
  }
}

}  // namespace
}  // namespace kgpu::run
