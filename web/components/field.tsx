import type { ComponentChildren, RefObject } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { FormContext } from './form.js'
import { AlertIcon, EyeIcon } from './icons.js'

export type FieldProps = {
  name: string
  label: string
  type?: 'text' | 'email' | 'password' | 'tel' | 'url' | 'date'
  autoComplete: AutoFill
  required?: boolean
  hint?: string
  /** The sentence for a value that the browser finds invalid. A field for an email address has one without this. */
  fault?: string | undefined
  /**
   * `selected`: the value is selected, so that typing replaces it. `chosen`: the field takes the focus on a touch screen, too, because the
   * user has asked for it with a press.
   */
  focused?: boolean | 'selected' | 'chosen'
  readOnly?: boolean
  code?: boolean
  /** A touch keyboard begins with a small letter, also in a name. */
  smallLetters?: boolean
  maxLength?: number
  /** The whole value must match this regular expression. */
  pattern?: string
  inputMode?: 'numeric'
  defaultValue?: string
  onInput?: (value: string) => void
  /** Shown below the field and read out with it. */
  below?: ComponentChildren
  /**
   * Read out with the field in the place of `below`, which changes while the user types: some screen readers read a description again with
   * each change.
   */
  description?: string
}

/** The browser and not the state keeps the value, so that password managers, pasting and undo work as usual. */
export const Field = (props: FieldProps) => {
  const { name, label, type = 'text', required = true, hint, focused = false, code = false } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const { problems, submissionCount, onEdit } = useContext(FormContext)
  const { isPasswordShown, setShown } = usePasswordShown(submissionCount)
  const caps = useCapsLock(type === 'password')
  // Preact's types have no input whose type changes.
  const inputType = (isPasswordShown ? 'text' : type) as 'text'
  const errors = problems.fields?.[name] ?? []
  // An error takes the place of the hint, which says the same in other words.
  const shownHint = errors.length === 0 ? hint : undefined

  useFirstFocus(input, focused)

  return (
    <div>
      <label for={id}>{label}</label>
      <div class="input-frame">
        <input
          ref={input}
          id={id}
          name={name}
          type={inputType}
          class={code ? 'code-input' : undefined}
          autocomplete={props.autoComplete}
          // Not `required`: Firefox would call the empty field invalid before anything was typed.
          aria-required={required}
          data-fault={props.fault}
          readOnly={props.readOnly}
          maxLength={props.maxLength}
          pattern={props.pattern}
          inputMode={props.inputMode}
          defaultValue={props.defaultValue}
          autocapitalize={capitalsOf(props)}
          // For `autocorrect`, Preact would set the property, which is a boolean: the text "off" would switch it on.
          autoCorrect="off"
          spellcheck={false}
          aria-invalid={errors.length > 0}
          aria-describedby={describedBy(id, { hint: shownHint, below: props.description ?? props.below })}
          onInput={(event) => {
            onEdit(name)
            props.onInput?.(event.currentTarget.value)
          }}
          onKeyDown={caps.onKey}
          onKeyUp={caps.onKey}
          onBlur={caps.onBlur}
        />
        {type === 'password' && (
          <ShowPassword shown={isPasswordShown} field={{ id, label }} onPress={() => setShown(!isPasswordShown)} />
        )}
      </div>
      <FieldMessages id={id} name={name} label={label} errors={errors} hint={shownHint} />
      {type === 'password' && <CapsLockHint on={caps.on} />}
      {props.description === undefined ? (
        props.below !== undefined && <div id={`${id}-below`}>{props.below}</div>
      ) : (
        <>
          {props.below}
          <p id={`${id}-below`} hidden>
            {props.description}
          </p>
        </>
      )}
    </div>
  )
}

const capitalsOf = ({ name, type = 'text', code = false, smallLetters = false }: FieldProps) => {
  if (code) return 'characters'
  return type === 'text' && name === 'name' && !smallLetters ? 'words' : 'none'
}

/** A password manager saves the value of a password field, so a shown password is hidden again on submit. */
const usePasswordShown = (submissionCount: number) => {
  const [isPasswordShown, setShown] = useState(false)
  useEffect(() => {
    if (submissionCount > 0) setShown(false)
  }, [submissionCount])
  return { isPasswordShown, setShown }
}

/** The parts that a screen reader reads with the field. */
const describedBy = (id: string, { hint, below }: Pick<FieldProps, 'below'> & { hint: string | undefined }) =>
  [`${id}-errors`, ...(hint ? [`${id}-hint`] : []), ...(below ? [`${id}-below`] : [])].join(' ')

const useFirstFocus = (input: RefObject<HTMLInputElement | null>, focused: FieldProps['focused']) => {
  const focus = useStableCallback(() => {
    // On a touch screen the focus would open a keyboard over the page before it has been read.
    if (focused !== 'chosen' && matchMedia('(pointer: coarse)').matches) return
    // The form was drawn before the script came, and the user may already type in another field.
    if (focused !== 'chosen' && document.activeElement?.matches('input')) return
    input.current?.focus()
    if (focused === 'selected') input.current?.select()
  })
  useEffect(() => {
    if (focused) focus()
  }, [focused])
}

type Messages = { id: string; name: string; label: string; errors: string[]; hint: string | undefined }

/**
 * A screen reader says an error also if the focus is in its field already, and if the same error comes again. The first error of a
 * field names it, because those of several fields are said one after the other. The field that gets the focus is read out with its error, so that error is not
 * said twice.
 */
export const FieldMessages = ({ id, name, label, errors, hint }: Messages) => {
  const { answerCount, readByFocus } = useContext(FormContext)
  const isReadByFocus = name === readByFocus
  return (
    <>
      <div id={`${id}-errors`} class="field-errors" aria-live={isReadByFocus ? 'off' : 'polite'}>
        {errors.map((error, index) => (
          <p key={`${answerCount} ${error}`}>
            <AlertIcon size={16} />
            <span>
              {index === 0 && !isReadByFocus && !error.includes(label) && (
                <span class="visually-hidden">{label}. </span>
              )}
              {error}
            </span>
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
}

type ShowPasswordProps = { shown: boolean; field: { id: string; label: string }; onPress: () => void }

const ShowPassword = ({ shown, field, onPress }: ShowPasswordProps) => {
  const words = useWords('common')
  const action = shown ? words.hidePassword : words.showPassword
  return (
    <button
      type="button"
      class="show-password"
      aria-controls={field.id}
      // A form may have two password fields, so the label of the button names its field.
      aria-label={field.label === words.password ? action : `${action} (${field.label})`}
      title={action}
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

const useCapsLock = (isWatched: boolean) => {
  const [on, setOn] = useState(false)
  const onKey = (event: KeyboardEvent) => {
    // Autofill sends key events that have no modifiers.
    if (isWatched && typeof event.getModifierState === 'function') setOn(event.getModifierState('CapsLock'))
  }
  return { on, onKey, onBlur: () => setOn(false) }
}

type Choice = { value: string; label: string; lang?: string }
type SelectProps = {
  name: string
  label: string
  hint?: string
  choices: readonly Choice[]
  /** Without a default value, nothing is chosen at first, and the user must choose. */
  defaultValue?: string
  /** Whether the empty choice is refused. Without a default value it always is. */
  required?: boolean
  onChoose?: (value: string) => void
}

/** A field for one of a few values. */
export const SelectField = ({ name, label, hint, choices, defaultValue, required = false, onChoose }: SelectProps) => {
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const errors = problems.fields?.[name] ?? []
  const shownHint = errors.length === 0 ? hint : undefined
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        aria-required={required || defaultValue === undefined}
        aria-invalid={errors.length > 0}
        aria-describedby={`${id}-errors${shownHint === undefined ? '' : ` ${id}-hint`}`}
        onChange={({ currentTarget }) => {
          onEdit(name)
          onChoose?.(currentTarget.value)
        }}
      >
        {defaultValue === undefined && <option value="" />}
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} lang={choice.lang} selected={choice.value === defaultValue}>
            {choice.label}
          </option>
        ))}
      </select>
      <FieldMessages id={id} name={name} label={label} errors={errors} hint={shownHint} />
    </div>
  )
}

/** Tells a password manager which user a password belongs to. Users do not see it. */
export const HiddenUsername = ({ username }: { username: string }) => (
  <input
    class="visually-hidden"
    type="text"
    name="username"
    autocomplete="username"
    value={username}
    readOnly
    tabIndex={-1}
    aria-hidden="true"
  />
)
