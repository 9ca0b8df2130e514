#include "src/node/slices/ledger_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/preload/ledger.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

std::string LedgerBytes(uint32_t version = preload::kLedgerVersion) {
  preload::LedgerHeader header{};
  header.magic = preload::kLedgerMagic;
  header.version = version;
  header.refused = 3;
  header.waited = 2'000'000'000;
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

TEST(LedgerFiguresTest, AreReadFromTheHeader) {
  const TempDir dir;
  dir.WriteFile("ledger", LedgerBytes() + std::string(1'000, 'x'));
  const auto figures = ReadLedgerFigures(dir.At("ledger"));
  ASSERT_OK(figures);
  EXPECT_EQ(*figures, (LedgerFigures{.refused = 3, .waited_ns = 2'000'000'000}));
}

// Of containers from before an upgrade.
TEST(LedgerFiguresTest, AreReadFromTheFormerVersion) {
  EXPECT_EQ(ParseLedgerFigures(LedgerBytes(1)),
            (LedgerFigures{.refused = 3, .waited_ns = 2'000'000'000}));
  EXPECT_EQ(ParseLedgerFigures(LedgerBytes(0)), std::nullopt);
}

TEST(LedgerFiguresTest, WhateverTheContainerHasMadeOfIt) {
  const TempDir dir;
  EXPECT_THAT(ReadLedgerFigures(dir.At("ledger")), StatusIs(StatusCode::kNotFound));
  for (const std::string& bytes :
       {std::string(), std::string(preload::kLedgerSize, '\0'), std::string(200, '\xff'),
        LedgerBytes(7), LedgerBytes().substr(0, 127)}) {
    dir.WriteFile("ledger", bytes);
    EXPECT_THAT(ReadLedgerFigures(dir.At("ledger")), StatusIs(StatusCode::kFailedPrecondition));
  }
}

}  // namespace
}  // namespace kgpu::slices
