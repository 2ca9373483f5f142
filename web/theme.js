// Sets the chosen light or dark before the first paint; a classic script, because modules run after it.
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem('saccade-settings') ?? '{}').theme;
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be switched off or hold something else; the system's choice is then used.
  }
})();
