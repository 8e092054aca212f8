/** The region has to be known to a screen reader before its text comes: what arrives together with its region stays silent. */
const pause = 250
/** The page shows the same text. It is not found twice by a user who reads on. */
const lifetime = 5_000

/** The server sends one with the page. What is behind a dialog stays silent, so each dialog has one of its own. */
const regionInFront = () => [...document.querySelectorAll('.announcements')].at(-1)

/** Has a screen reader say what has appeared on the page. Returns what takes it back. */
export const announce = (text: string, after = pause) => {
  const said = document.createElement('span')
  said.textContent = text
  const beginning = setTimeout(() => regionInFront()?.append(said), after)
  const end = setTimeout(() => said.remove(), after + lifetime)
  return () => {
    clearTimeout(beginning)
    clearTimeout(end)
    said.remove()
  }
}
