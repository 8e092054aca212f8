/** "9 min 17 s": these units are the same in all our languages. The seconds of a long wait are not shown. */
export const exactWait = (seconds: number) => {
  const shownSeconds = seconds > 600 ? Math.ceil(seconds / 60) * 60 : seconds
  const parts = { h: Math.floor(shownSeconds / 3_600), min: Math.floor(shownSeconds / 60) % 60, s: shownSeconds % 60 }
  const shownParts = Object.entries(parts).filter(([, count]) => count > 0)
  return shownParts.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}
