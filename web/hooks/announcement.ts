import { useEffect } from 'preact/hooks'
import { announce } from '../browser/announce.js'

/** What loads in less time is not worth a sentence. */
export const slow = 1_000

/** Says a text that is shown with the component, once. Errors have `role="alert"` instead, which browsers announce themselves. */
export const useAnnouncement = (text: string | undefined, after?: number) => {
  useEffect(() => (text === undefined ? undefined : announce(text, after)), [text, after])
}
