// The sections of the page: the part of the address behind # says which one is shown.

export class Tabs {
  // `parts`: {name: {show(), hide()}} of sections that have something to do when they come and go.
  constructor(nav, parts) {
    this.links = [...nav.querySelectorAll('a')];
    this.parts = parts;
    this.current = null;
    window.addEventListener('hashchange', () => this.follow());
  }

  follow() {
    const asked = location.hash.slice(1);
    const name = this.links.some((link) => link.dataset.tab === asked) ? asked : 'ask';
    if (name === this.current) return;
    this.parts[this.current]?.hide();
    this.current = name;
    document.body.dataset.tab = name;
    for (const link of this.links) {
      const here = link.dataset.tab === name;
      if (here) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
      document.getElementById(`tab-${link.dataset.tab}`).hidden = !here;
    }
    this.parts[name]?.show();
  }
}
