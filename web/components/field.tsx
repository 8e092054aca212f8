import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import { useWords } from '../settings.js'
import { FormContext } from './form.js'
import { AlertIcon, EyeIcon } from './icons.js'

type Props = {
  name: string
  label: string
  type?: 'text' | 'email' | 'password'
  autoComplete: 'username' | 'current-password' | 'new-password' | 'email' | 'name' | 'one-time-code'
  required?: boolean
  hint?: string
  focused?: boolean
  code?: boolean
  maxLength?: number
  defaultValue?: string
  onInput?: (value: string) => void
  /** Shown below the field and read out with it. */
  below?: ComponentChildren
}

/** The browser keeps the value, so that password managers, pasting and undo work as usual. */
export const Field = (props: Props) => {
  const { name, label, type = 'text', required = true, hint, focused = false, code = false } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const { problems, submissions, onEdit } = useContext(FormContext)
  const [shown, setShown] = useState(false)
  const caps = useCapsLock(type === 'password')
  // Preact's types have no input whose type changes.
  const typed = (shown ? 'text' : type) as 'text'
  const errors = problems.fields?.[name] ?? []
  const described = [`${id}-errors`, ...(hint ? [`${id}-hint`] : []), ...(props.below ? [`${id}-below`] : [])]

  // A password manager saves the value of a password field, so a shown password is hidden again on submit.
  useEffect(() => {
    if (submissions > 0) setShown(false)
  }, [submissions])
  useEffect(() => {
    // On a touch screen the focus would open a keyboard over the page before it has been read.
    if (focused && matchMedia('(pointer: fine)').matches) input.current?.focus()
  }, [focused])

  return (
    <div>
      <label for={id}>{label}</label>
      <div class="input-frame">
        <input
          ref={input}
          id={id}
          name={name}
          type={typed}
          class={code ? 'code-input' : undefined}
          autocomplete={props.autoComplete}
          required={required}
          maxLength={props.maxLength}
          defaultValue={props.defaultValue}
          autocapitalize={code ? 'characters' : type === 'text' && name === 'name' ? 'words' : 'none'}
          // In lower case Preact sets the property, which is a boolean: "off" would switch it on.
          autoCorrect="off"
          spellcheck={false}
          aria-invalid={errors.length > 0 || undefined}
          aria-describedby={described.join(' ')}
          onInput={(event) => {
            onEdit(name)
            props.onInput?.(event.currentTarget.value)
          }}
          onKeyDown={caps.onKey}
          onKeyUp={caps.onKey}
          onBlur={caps.onBlur}
        />
        {type === 'password' && <ShowPassword shown={shown} controls={id} onPress={() => setShown(!shown)} />}
      </div>
      <FieldMessages id={id} errors={errors} hint={hint} />
      {type === 'password' && <CapsLockHint on={caps.on} />}
      {props.below !== undefined && <div id={`${id}-below`}>{props.below}</div>}
    </div>
  )
}

const FieldMessages = ({ id, errors, hint }: { id: string; errors: string[]; hint: string | undefined }) => (
  <>
    <div id={`${id}-errors`} class="field-errors">
      {errors.map((error) => (
        <p key={error}>
          <AlertIcon size={16} />
          <span>{error}</span>
        </p>
      ))}
    </div>
    {hint !== undefined && (
      <p id={`${id}-hint`} class="field-hint">
        {hint}
      </p>
    )}
  </>
)

const ShowPassword = ({ shown, controls, onPress }: { shown: boolean; controls: string; onPress: () => void }) => {
  const words = useWords('common')
  return (
    <button
      type="button"
      class="show-password"
      aria-controls={controls}
      aria-label={shown ? words.hidePassword : words.showPassword}
      title={shown ? words.hidePassword : words.showPassword}
      onClick={onPress}
    >
      <EyeIcon crossed={shown} />
    </button>
  )
}

const CapsLockHint = ({ on }: { on: boolean }) => {
  const words = useWords('common')
  return (
    <p class="field-hint caps-lock" role="status">
      {on ? words.capsLock : ''}
    </p>
  )
}

const useCapsLock = (wanted: boolean) => {
  const [on, setOn] = useState(false)
  const onKey = (event: KeyboardEvent) => {
    // Autofill sends key events that have no modifiers.
    if (wanted && typeof event.getModifierState === 'function') setOn(event.getModifierState('CapsLock'))
  }
  return { on, onKey, onBlur: () => setOn(false) }
}
