/** "9 min 17 s": these units are the same in all our languages. The seconds of a long wait are not shown. */
export const exactWait = (seconds: number) => {
  const whole = seconds > 600 ? Math.ceil(seconds / 60) * 60 : seconds
  const parts = { h: Math.floor(whole / 3_600), min: Math.floor(whole / 60) % 60, s: whole % 60 }
  const shown = Object.entries(parts).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}
