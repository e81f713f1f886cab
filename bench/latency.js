/**
 * Measures, in the page, how long the player takes from an input event until the layout that follows from it is done.
 *
 * `dispatchEvent` returns when all listeners have run, and asking for a box's size makes the browser lay the page out:
 * so the time between covers computing, drawing into the document, style and layout. What is left out is the wait for
 * the next frame, up to 16 ms, which no program can shorten.
 */
function measureLatency(host, { samples, warmUp, edited, changed }) {
  const root = host.shadowRoot;
  const { player } = host;
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

  /**
   * Until what was drawn last has been painted as well, which without a graphics processor takes processor time beside
   * what is measured. Busy, because a processor that rests clocks down.
   */
  function painted() {
    const end = performance.now() + 25;
    while (performance.now() < end);
  }

  function timed(target, event) {
    const start = performance.now();
    target.dispatchEvent(event);
    host.getBoundingClientRect();
    return performance.now() - start;
  }

  const press = (key) => new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true });

  async function repeat(once) {
    const times = [];
    for (let i = 0; i < warmUp + samples; i++) {
      const time = await once(i);
      if (i >= warmUp) times.push(time);
      await frame();
    }
    return times;
  }

  /**
   * The reader presses `]`, each time when the last step has been painted and the next one is drawn ahead; at the last
   * step we go back to the first, untimed and laid out before time starts. `ahead` takes the times of drawing ahead.
   */
  async function step(ahead) {
    const { turns } = player;
    const prepare = turns.prepare.bind(turns);
    turns.prepare = (...step) => {
      const start = performance.now();
      prepare(...step);
      ahead.push(performance.now() - start);
    };
    const steps = Number(host.dataset.steps);
    player.goto(0);
    const times = await repeat(async () => {
      if (player.step === steps - 1) {
        player.goto(0);
        await frame();
      }
      const before = player.step;
      const time = timed(root.querySelector('[role=group]'), press(']'));
      if (player.step !== before + 1) throw new Error('the step did not happen');
      return time;
    });
    delete turns.prepare;
    player.goto(0);
    return times;
  }

  /** The reader presses a step in the list, anywhere: nothing of it is drawn ahead. */
  async function jump() {
    const steps = [...root.querySelectorAll('.step')];
    const times = await repeat((i) => {
      const target = steps[(i * 37 + 11) % steps.length];
      const time = timed(target, new MouseEvent('click', { bubbles: true, composed: true }));
      if (target.ariaCurrent !== 'step') throw new Error('the jump did not happen');
      return time;
    });
    player.goto(0);
    return times;
  }

  /**
   * The reader types a number into the first cell of the changed tensor and, seeing it, presses Enter; what follows from
   * the tensor is computed anew.
   */
  async function type() {
    return repeat(async (i) => {
      const cell = root.querySelector('.equation:not([data-waiting]) [role=gridcell]');
      cell.focus();
      cell.dispatchEvent(press('1'));
      const field = root.querySelector('input[type=text]');
      const value = (i % 2 ? -1 : 1) * (0.1 + (i % 7) / 10);
      field.value = String(value);
      await frame();
      painted();
      const time = timed(field, press('Enter'));
      check(value);
      return time;
    });
  }

  /** The reader drags the slider of that cell. */
  async function slide() {
    root.querySelector('.equation:not([data-waiting]) [role=gridcell]').focus();
    await frame();
    return repeat((i) => {
      const slider = root.querySelector('input[type=range]');
      slider.value = String(i % 2 ? 0.7 : -0.4);
      const value = Number(slider.value);
      const time = timed(slider, new Event('input', { bubbles: true, composed: true }));
      check(value);
      return time;
    });
  }

  function check(value) {
    if (player.values(changed)[0][0] !== value)
      throw new Error(`${changed}[0][0] is not ${value}: the edit did not happen`);
  }

  async function all() {
    const ahead = [];
    const steps = await step(ahead);
    const jumps = await jump();
    player.goto(edited); // a step that the changed tensor goes into, with large matrices on show
    return { step: steps, ahead, jump: jumps, type: await type(), slide: await slide() };
  }

  return all();
}
