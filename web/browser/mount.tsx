import { type ComponentType, render } from 'preact'
import { SettingsContext } from '../hooks/settings.js'
import { readSettings } from './settings.js'

/** Renders a page into the document that the server sent. */
export const mount = (Page: ComponentType) => {
  const main = document.getElementById('page')
  if (!main) throw new Error('The document has no place for its page')
  const settings = readSettings()
  removeBrokenLogo()
  // A page that the browser kept for the back button is out of date: the visitor may have signed in or out since.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
  main.replaceChildren()
  render(
    <SettingsContext.Provider value={settings}>
      <Page />
    </SettingsContext.Provider>,
    main,
  )
}

/** Clears the screen, so that nothing of a session can be seen after it. */
export const unmount = () => {
  const main = document.getElementById('page')
  if (main) render(null, main)
}

/** A logo from another site may be missing, or lack the header that allows embedding. The product's name is enough. */
const removeBrokenLogo = () => {
  const logo = document.querySelector<HTMLImageElement>('img.brand-mark')
  if (!logo) return
  const remove = () => logo.remove()
  if (logo.complete && logo.naturalWidth === 0) remove()
  else logo.addEventListener('error', remove)
}
