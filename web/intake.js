// How files come to the page: chosen, pasted or dropped anywhere.

import {ACCEPTED} from './pictures.js';

// `taken(files)` gets every batch of files; nothing is taken while `active()` is false.
export function takeFiles({input, capture, drag, taken, active}) {
  input.accept = ACCEPTED;
  for (const chooser of [input, capture]) {
    chooser.addEventListener('change', () => {
      taken([...chooser.files]);
      chooser.value = '';  // so that the same file can be chosen again
    });
  }
  document.addEventListener('paste', (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length || !active()) return;
    event.preventDefault();
    taken(files);
  });
  takeDrops(drag, taken, active);
}

function takeDrops(drag, taken, active) {
  let depth = 0;
  const carriesFiles = (event) => active() && event.dataTransfer?.types.includes('Files');
  const show = (on) => { drag.hidden = !on; };
  document.addEventListener('dragenter', (event) => {
    if (!carriesFiles(event)) return;
    ++depth;
    show(true);
  });
  document.addEventListener('dragleave', (event) => {
    if (carriesFiles(event) && --depth <= 0) show(false);
  });
  document.addEventListener('dragover', (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  document.addEventListener('drop', (event) => {
    depth = 0;
    show(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length || !active()) return;
    event.preventDefault();
    taken(files);
  });
}
