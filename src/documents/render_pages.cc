#include "documents/render_pages.h"

#include "documents/page_list.h"

namespace saccade {

Result<std::vector<int>> ChoosePages(const DocumentOptions& options, int total, bool& truncated) {
  SACCADE_ASSIGN_OR_RETURN(std::vector<int> pages, ParsePageList(options.pages, total));
  const auto most = static_cast<size_t>(options.max_pages);
  truncated = pages.size() > most;
  if (truncated && !options.truncate) {
    return TooLarge(
               "{} pages are asked for, the limit is {}; name fewer, as in \"pages\": \"1-{}\", or let the "
               "rest be "
               "left out with \"too_many\": \"truncate\"",
               pages.size(), most, most)
        .WithParam("pages");
  }
  if (truncated) pages.resize(most);
  return pages;
}

}  // namespace saccade
