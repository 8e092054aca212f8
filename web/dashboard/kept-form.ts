import { useLayoutEffect, useState } from 'preact/hooks'
import type { Account } from '#contract/schemas.js'
import { keepUnsaved, takeUnsaved } from '../browser/storage.js'
import { valuesOf } from '../components/form.js'
import { useDisclosure } from '../hooks/focus.js'
import { useStableCallback } from '../hooks/stable.js'
import type { PanelName } from './places.js'

/** The panels whose form is kept. None of them has a password or a code. */
type KeptPanel = Extract<PanelName, 'names' | 'email' | 'language' | 'details'>

/**
 * A form behind a button. When the session ends while the form is open, this tab keeps what was typed, and fills it in after the next
 * sign-in of the same user.
 */
export const useKeptForm = (place: KeptPanel, account: Account, label: string) => {
  const [typed] = useState(() => takeUnsaved(account.id, place))
  const disclosure = useDisclosure({ 'aria-label': label }, () => typed !== undefined)
  const { ref } = disclosure.containerProps
  const restore = useStableCallback(() => {
    const form = ref.current?.querySelector('form')
    if (form && typed) fillIn(form, typed)
  })
  const keep = useStableCallback(() => {
    const form = ref.current?.querySelector('form')
    if (form) keepUnsaved(account.id, place, valuesOf(form))
  })
  // A layout effect, because the clean-up of other effects comes when the form is already gone.
  useLayoutEffect(() => {
    restore()
    return keep
  }, [])
  return disclosure
}

const fillIn = (form: HTMLFormElement, typed: Record<string, string>) => {
  for (const input of form.elements) {
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) continue
    if (input instanceof HTMLInputElement && input.type === 'checkbox') input.checked = typed[input.name] !== undefined
    else input.value = typed[input.name] ?? input.value
  }
}
