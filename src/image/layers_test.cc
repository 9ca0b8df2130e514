#include "src/image/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/image/test_tar.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRuntime = "usr/lib/libcudart.so.12.4.127";
constexpr const char* kCompat = "usr/local/cuda/compat/libcuda.so.550.54.15";

void Add(LibraryCollector& collector, const std::string& layer) {
  EXPECT_OK(ReadLayer(std::make_unique<TextSource>(layer), collector));
}

std::vector<std::string> PathsOf(LibraryCollector& collector) {
  std::vector<std::string> paths;
  for (const CudaLibrary& library : collector.Take()) {
    paths.push_back(library.path);
  }
  return paths;
}

TEST(LayersTest, LibrariesOfAllLayersCount) {
  LibraryCollector collector;
  const std::string first = TarFile(kRuntime, "") + TarEnd();
  const std::string second = Gzip(TarFile(kCompat, "") + TarEnd());
  Add(collector, first);
  Add(collector, second);
  EXPECT_THAT(PathsOf(collector), ElementsAre(kRuntime, kCompat));
}

TEST(LayersTest, WhatALaterLayerTakesAwayDoesNotCount) {
  LibraryCollector collector;
  const std::string first = TarFile(kRuntime, "") + TarFile(kCompat, "") + TarEnd();
  const std::string second =
      TarFile("usr/lib/.wh.libcudart.so.12.4.127", "") + TarFile("usr/local/.wh.cuda", "");
  Add(collector, first);
  Add(collector, second);
  EXPECT_THAT(PathsOf(collector), IsEmpty());
}

TEST(LayersTest, AnOpaqueFolderHidesWhatIsBelowAndKeepsItsOwn) {
  LibraryCollector collector;
  const std::string first = TarFile("opt/a/libcudart.so.11.8.89", "");
  const std::string second =
      TarFile("opt/libcudart.so.12.1.55", "") + TarFile("opt/.wh..wh..opq", "");
  Add(collector, first);
  Add(collector, second);
  EXPECT_THAT(PathsOf(collector), ElementsAre("opt/libcudart.so.12.1.55"));
}

TEST(LayersTest, WhatWasReadOfABrokenLayerCounts) {
  LibraryCollector collector;
  const std::string layer = TarFile(kRuntime, "") + "rubbish";
  EXPECT_THAT(ReadLayer(std::make_unique<TextSource>(layer), collector),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte")));
  EXPECT_THAT(PathsOf(collector), ElementsAre(kRuntime));
}

TEST(LayersTest, FoldersAreReadWithoutFollowingLinks) {
  const TempDir dir;
  dir.WriteFile("layer/usr/lib/libcudart.so.12.4.127", "");
  dir.WriteFile("outside/libcudart.so.11.8.89", "");
  dir.Symlink("../../outside", "layer/usr/outside");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  LibraryCollector collector;
  EXPECT_OK(ReadLayerFolder(*root, "layer", collector));
  EXPECT_THAT(PathsOf(collector), ElementsAre(kRuntime));
}

TEST(LayersTest, AFolderThatIsNotThereIsAnError) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  LibraryCollector collector;
  EXPECT_THAT(ReadLayerFolder(*root, "gone", collector),
              StatusIs(StatusCode::kNotFound, HasSubstr("gone")));
}

}  // namespace
}  // namespace kgpu::image
