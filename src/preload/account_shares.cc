// Memory that several processes of a container have: who offers it, and who claims it. All with the
// ledger's lock held, except the four functions for others.
#include "src/preload/account.h"
#include "src/preload/system.h"

namespace kgpu::preload {

uint32_t Account::ShareCount() const {
  const uint32_t count = ledger_->header.shares;
  return count < kLedgerShares ? count : kLedgerShares;
}

LedgerShare* Account::FindShare(uint64_t name, uint32_t entry, bool is_claim) {
  for (uint32_t at = 0; at < ShareCount(); ++at) {
    LedgerShare& share = ledger_->shares[at];
    if (share.name == name && share.entry == entry && (share.is_claim != 0) == is_claim) {
      return &share;
    }
  }
  return nullptr;
}

const LedgerShare* Account::FindOffer(uint64_t name) {
  for (uint32_t at = 0; at < ShareCount(); ++at) {
    const LedgerShare& share = ledger_->shares[at];
    if (share.name == name && share.is_claim == 0 && share.entry < kLedgerEntries &&
        IsAlive(share.entry)) {
      return &share;
    }
  }
  return nullptr;
}

bool Account::HasShare(uint64_t name) const {
  bool is_found = false;
  for (uint32_t at = 0; at < ShareCount(); ++at) {
    is_found = is_found || ledger_->shares[at].name == name;
  }
  return is_found;
}

LedgerShare* Account::FreePlace() {
  for (uint32_t at = 0; at < kLedgerShares; ++at) {
    if (ledger_->shares[at].name == 0) {
      ledger_->header.shares = ShareCount() > at ? ShareCount() : at + 1;
      return &ledger_->shares[at];
    }
  }
  return nullptr;
}

Account::OwnClaim* Account::FindOwn(uint64_t name) {
  for (uint32_t at = 0; at < claim_count_; ++at) {
    if (claims_[at].name == name) {
      return &claims_[at];
    }
  }
  return nullptr;
}

bool Account::WriteClaim(const OwnClaim& claim) {
  LedgerShare* place = FindShare(claim.name, entry_, true);
  place = place != nullptr ? place : FreePlace();
  if (place != nullptr) {
    *place = {.name = claim.name,
              .size = claim.size,
              .entry = entry_,
              .is_claim = 1,
              .uses = static_cast<uint16_t>(claim.uses < UINT16_MAX ? claim.uses : UINT16_MAX)};
  }
  return place != nullptr;
}

bool Account::AddOwn(const OwnClaim& claim) {
  if (claims_ == nullptr) {
    claims_ = static_cast<OwnClaim*>(MapMemory(kLedgerShares * sizeof(OwnClaim), false));
  }
  if (claims_ == nullptr || claim_count_ == kLedgerShares || !WriteClaim(claim)) {
    return false;
  }
  claims_[claim_count_++] = claim;
  return true;
}

// Removes what is impossible, and writes our own claims again. Returns how much was removed.
uint64_t Account::CheckShares() {
  uint64_t removed = 0;
  for (uint32_t at = 0; at < ShareCount(); ++at) {
    LedgerShare& share = ledger_->shares[at];
    const bool is_possible = share.entry < kLedgerEntries && share.is_claim <= 1 &&
                             share.size <= kMaxLedgerBytes &&
                             ledger_->entries[share.entry].is_used == 1;
    const bool is_strange = is_possible && share.is_claim == 1 && share.entry == entry_ &&
                            FindOwn(share.name) == nullptr;
    if (share.name != 0 && (!is_possible || is_strange)) {
      share = LedgerShare{};
      ++removed;
    }
  }
  for (uint32_t at = 0; at < claim_count_; ++at) {
    (void)WriteClaim(claims_[at]);
  }
  return removed;
}

// Bytes that are claimed and that no entry pays for: once for each name.
uint64_t Account::SumUnoffered() const {
  uint64_t sum = 0;
  for (uint32_t at = 0; at < ShareCount(); ++at) {
    const LedgerShare& share = ledger_->shares[at];
    bool is_counted = share.name != 0 && share.is_claim != 0;
    for (uint32_t other = 0; is_counted && other < ShareCount(); ++other) {
      const LedgerShare& same = ledger_->shares[other];
      is_counted = same.name != share.name || (same.is_claim != 0 && other >= at);
    }
    sum += is_counted ? share.size : 0;
  }
  return sum;
}

// A name that stands for something else belongs to memory whose maker is gone: who claims that is
// charged for it, and must not be for this.
void Account::Offer(uint64_t name, uint64_t size) {
  if (!Lock()) {
    return;
  }
  LedgerShare* mine = FindShare(name, entry_, false);
  if (mine != nullptr) {
    mine->uses += mine->uses < UINT16_MAX ? 1 : 0;
  } else if (LedgerShare* place = HasShare(name) ? nullptr : FreePlace(); place != nullptr) {
    *place = {.name = name, .size = size, .entry = entry_, .is_claim = 0, .uses = 1};
  }
  Unlock();
}

void Account::Withdraw(uint64_t name) {
  if (!Lock()) {
    return;
  }
  LedgerShare* mine = FindShare(name, entry_, false);
  if (mine != nullptr && mine->uses > 1) {
    --mine->uses;
  } else if (mine != nullptr) {
    const uint64_t size = mine->size;
    *mine = LedgerShare{};
    ledger_->header.total += HasShare(name) ? size : 0;
  }
  Unlock();
}

bool Account::Claim(uint64_t name) {
  if (!Lock()) {
    return false;
  }
  const LedgerShare* offer = FindOffer(name);
  OwnClaim* own = FindOwn(name);
  bool is_claimed = false;
  if (offer != nullptr && own != nullptr) {
    ++own->uses;
    is_claimed = WriteClaim(*own);
  } else if (offer != nullptr) {
    is_claimed = AddOwn({.name = name, .size = offer->size, .uses = 1});
  }
  Unlock();
  return is_claimed;
}

void Account::Unclaim(uint64_t name) {
  if (!Lock()) {
    return;
  }
  OwnClaim* own = FindOwn(name);
  if (own != nullptr && own->uses > 1) {
    --own->uses;
    (void)WriteClaim(*own);
  } else if (own != nullptr) {
    const uint64_t size = own->size;
    *own = claims_[--claim_count_];
    LedgerShare* share = FindShare(name, entry_, true);
    if (share != nullptr) {
      *share = LedgerShare{};
      uint64_t& total = ledger_->header.total;
      total -= HasShare(name) ? 0 : size < total ? size : total;
    }
  }
  Unlock();
}

}  // namespace kgpu::preload
