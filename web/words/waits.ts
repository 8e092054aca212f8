/** "9 min 17 s": these units are the same in all our languages. Nobody counts the seconds of a long wait. */
export const exactWait = (seconds: number) => {
  const whole = seconds > 600 ? Math.ceil(seconds / 60) * 60 : seconds
  const parts = { h: Math.floor(whole / 3_600), min: Math.floor(whole / 60) % 60, s: whole % 60 }
  const shown = Object.entries(parts).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}

/** "15 minutes", "1 hour", "40 seconds": rounded up, in words. */
export const roundedWait = (seconds: number, locale: string) => {
  const minutes = Math.ceil(seconds / 60)
  const [unit, count] =
    seconds < 60
      ? (['second', seconds] as const)
      : minutes % 60 === 0
        ? (['hour', minutes / 60] as const)
        : (['minute', minutes] as const)
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
