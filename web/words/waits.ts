/** "9 min 17 s": these units are the same in all our languages. Nobody counts the seconds of a long wait. */
export const exactWait = (seconds: number) => {
  const whole = seconds > 600 ? Math.ceil(seconds / 60) * 60 : seconds
  const parts = { h: Math.floor(whole / 3_600), min: Math.floor(whole / 60) % 60, s: whole % 60 }
  const shown = Object.entries(parts).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => `${count}\u00a0${unit}`).join(' ')
}

/** "30 days", "1 hour", "15 minutes", "40 seconds": rounded up, in words. */
export const roundedWait = (seconds: number, locale: string) => {
  const minutes = Math.ceil(seconds / 60)
  const [unit, count] =
    seconds < 60
      ? (['second', seconds] as const)
      : minutes % 60 > 0
        ? (['minute', minutes] as const)
        : minutes % 1_440 > 0 || minutes === 1_440
          ? (['hour', minutes / 60] as const)
          : (['day', minutes / 1_440] as const)
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
