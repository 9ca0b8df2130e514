#include "src/diagnose/image/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "src/diagnose/image/test_tar.h"
#include "src/platform/compress/test_pack.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRuntime = "usr/lib/libcudart.so.12.4.127";
constexpr const char* kCompat = "usr/local/cuda/compat/libcuda.so.550.54.15";

// This thread's files are opened as nobody's, to whom folders can be closed; root has none such.
// Source: setfsuid(2). Without effect for other users, who are somebody already.
class AsNobody {
 public:
  AsNobody() { (void)setfsuid(65534); }
  ~AsNobody() { (void)setfsuid(geteuid()); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

void Add(LibraryCollector& collector, const std::string& layer) {
  EXPECT_OK(ReadLayer(std::make_unique<compress::TextSource>(layer), collector));
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
  const std::string second = compress::Gzip(TarFile(kCompat, "") + TarEnd());
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
  EXPECT_THAT(ReadLayer(std::make_unique<compress::TextSource>(layer), collector),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte")));
  EXPECT_THAT(PathsOf(collector), ElementsAre(kRuntime));
}

TEST(LayersTest, LayersOfZstdAreRead) {
  LibraryCollector collector;
  const std::string layer = compress::Zstd(TarFile(kRuntime, "") + TarEnd());
  Add(collector, layer);
  EXPECT_THAT(PathsOf(collector), ElementsAre(kRuntime));
}

TEST(LayersTest, WhatIsHiddenIsOnlyWhatStandsBelow) {
  LibraryCollector collector;
  const std::string first =
      TarFile("a/libcudart.so.12.1.55", "") + TarFile("a-b/libcudart.so.12.2.55", "");
  const std::string second = TarFile(".wh.a", "");
  Add(collector, first);
  Add(collector, second);
  EXPECT_THAT(PathsOf(collector), ElementsAre("a-b/libcudart.so.12.2.55"));
}

TEST(LayersTest, NoImageMakesUsKeepMoreThanItsShare) {
  LibraryCollector collector;
  for (int i = 0; i < 5000; ++i) {
    collector.See(fmt::format("{}/libcudart.so.12.4.127", i));
  }
  collector.See(std::string(5000, 'x') + "/libcudart.so.12.4.127");
  collector.EndLayer();
  EXPECT_EQ(collector.Take().size(), kLibraryLimit);
}

TEST(LayersTest, LongPathsAreNoLibraries) {
  LibraryCollector collector;
  collector.See(std::string(5000, 'x') + "/libcudart.so.12.4.127");
  collector.EndLayer();
  EXPECT_THAT(PathsOf(collector), IsEmpty());
}

TEST(LayersTest, AllLayersShareOneBudget) {
  LibraryCollector collector;
  collector.budget().entries = 3;
  const std::string layer = TarFile("a", "") + TarFile("b", "") + TarEnd();
  Add(collector, layer);
  EXPECT_THAT(ReadLayer(std::make_unique<compress::TextSource>(layer), collector),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("too many files")));
}

TEST(LayersTest, FoldersHideAsFuseOverlayfsDoesIt) {
  const TempDir dir;
  dir.WriteFile("lower/opt/libcudart.so.13.0.48", "");
  dir.WriteFile("lower/usr/libcudart.so.13.0.48", "");
  dir.WriteFile("upper/opt/.wh..wh..opq", "");
  dir.WriteFile("upper/usr/.wh.libcudart.so.13.0.48", "");
  dir.WriteFile("upper/usr/libcudart.so.12.4.127", "");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  LibraryCollector collector;
  EXPECT_OK(ReadLayerFolder(*root, "lower", collector));
  EXPECT_OK(ReadLayerFolder(*root, "upper", collector));
  EXPECT_THAT(PathsOf(collector), ElementsAre("usr/libcudart.so.12.4.127"));
}

TEST(LayersTest, AnOpaqueFolderOfOverlayfsHidesWhatIsBelow) {
  const TempDir dir;
  dir.WriteFile("lower/opt/libcudart.so.13.0.48", "");
  dir.WriteFile("upper/opt/libcudart.so.12.4.127", "");
  if (setxattr(dir.At("upper/opt").c_str(), "user.overlay.opaque", "y", 1, 0) != 0) {
    GTEST_SKIP() << "the file system of the temporary folder takes no attributes";
  }
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  LibraryCollector collector;
  EXPECT_OK(ReadLayerFolder(*root, "lower", collector));
  EXPECT_OK(ReadLayerFolder(*root, "upper", collector));
  EXPECT_THAT(PathsOf(collector), ElementsAre("opt/libcudart.so.12.4.127"));
}

TEST(LayersTest, ClosedFoldersAreCountedAndTheRestIsRead) {
  const TempDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  dir.WriteFile("layer/usr/libcudart.so.12.4.127", "");
  dir.WriteFile("layer/home/x", "");
  dir.WriteFile("layer/var/cache/apt/x", "");
  ASSERT_EQ(chmod(dir.At("layer/home").c_str(), 0), 0);
  ASSERT_EQ(chmod(dir.At("layer/var/cache").c_str(), 0), 0);
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  LibraryCollector collector;
  {
    const AsNobody nobody;
    EXPECT_THAT(ReadLayerFolder(*root, "layer", collector), IsOkAndHolds(1U));
  }
  EXPECT_THAT(PathsOf(collector), ElementsAre("usr/libcudart.so.12.4.127"));
  ASSERT_EQ(chmod(dir.At("layer/home").c_str(), 0700), 0);
  ASSERT_EQ(chmod(dir.At("layer/var/cache").c_str(), 0700), 0);
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
