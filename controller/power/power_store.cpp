#include "controller/power/power_store.hpp"

#include <utility>

#include "controller/store/store.hpp"

namespace wattle::controller::power {
namespace {

class StoredPower final : public PowerStore {
 public:
  explicit StoredPower(Store& store) : store_(store) {}

  Result<PowerRows> load() override {
    PowerRows rows;
    const auto read = store_
                          .read([&rows](StoreFile& file) -> Result<std::string> {
                            WATTLE_TRY(rows, file.sleeps().power_rows());
                            return std::string();
                          })
                          .get();
    if (!read) return tl::unexpected<Error>(read.error());
    return rows;
  }

  std::future<Result<std::string>> keep(PowerRows rows) override {
    return store_.read([rows = std::move(rows)](StoreFile& file) -> Result<std::string> {
      WATTLE_CHECK(file.sleeps().keep(rows));
      return std::string();
    });
  }

 private:
  Store& store_;
};

}  // namespace

std::unique_ptr<PowerStore> power_store_in(Store& store) { return std::make_unique<StoredPower>(store); }

}  // namespace wattle::controller::power
