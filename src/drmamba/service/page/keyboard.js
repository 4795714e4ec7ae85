() => {
  // Gradio's comparison cannot be moved with the keyboard, so arrow keys move it as a drag with the mouse would.
  const root = document.querySelector('#compare');
  if (!root || root.dataset.keys) return;
  root.dataset.keys = '1'; root.tabIndex = 0;
  root.setAttribute('role', 'slider');
  root.setAttribute('aria-label', 'Compare the scan with the result: left and right arrow keys');
  root.setAttribute('aria-valuemin', 0); root.setAttribute('aria-valuemax', 100);
  root.setAttribute('aria-valuenow', 50);
  root.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -5, ArrowRight: 5, Home: -100, End: 100}[event.key];
    const grip = root.querySelector('.outer'), wrap = root.querySelector('.slider-wrap');
    if (!step || !grip || !wrap || event.target !== root) return;
    event.preventDefault();
    const box = wrap.getBoundingClientRect(), own = grip.getBoundingClientRect();
    const from = own.left + own.width / 2;
    const at = Math.min(100, Math.max(0, (from - box.left) / box.width * 100 + step));
    const fire = (kind, x) => grip.dispatchEvent(new MouseEvent(kind, {bubbles: true, cancelable: true,
      view: window, clientX: x, clientY: own.top + own.height / 2}));
    const to = box.left + box.width * at / 100;
    fire('mousedown', from); fire('mousemove', to); fire('mouseup', to);
    root.setAttribute('aria-valuenow', Math.round(at));
  });
}
