;;; A session in Emacs without a screen: what a client of its own makes of the server, as JSON in the file $FX_SEEN.
;;; $FX_CLIENT is the client, eglot or lsp-mode; $FX_SERVER the server's command line as JSON, $FX_OPTIONS its
;;; initializationOptions, $FX_FILE what is opened.  -*- lexical-binding: t -*-

(require 'json)
(require 'cl-lib)
(require 'subr-x)
(require 'package)
(package-initialize)

(defvar fx-patience 120 "Seconds.")

(defun fx-env (name) (json-parse-string (getenv name) :object-type 'plist))
(defun fx-server () (append (fx-env "FX_SERVER") nil))

(defun fx-wait (what happened)
  (let ((end (+ (float-time) fx-patience)))
    (while (not (funcall happened))
      (when (> (float-time) end) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.05))))

(defun fx-place (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun fx-hover (ask)
  "What ASK answers over Net once it is traced, which may be after what has the problem."
  (fx-place "Net")
  (let (text)
    (fx-wait "Net to be traced" (lambda () (not (string-prefix-p "Tracing" (setq text (funcall ask))))))
    text))

(defun fx-eglot ()
  "Diagnostics, hover and a fix, as eglot has them; it shows no lenses."
  (require 'eglot)
  (setq eglot-sync-connect t eglot-connect-timeout fx-patience eglot-confirm-server-initiated-edits nil)
  (add-to-list 'eglot-server-programs
               `(python-mode . (,@(fx-server) :initializationOptions ,(fx-env "FX_OPTIONS"))))
  (apply #'eglot--connect (eglot--guess-contact))
  (fx-wait "diagnostics" (lambda () (flymake-start) (flymake-diagnostics)))
  (let* ((found (mapcar (lambda (it) (list (flymake-diagnostic-text it)
                                           (buffer-substring-no-properties (flymake-diagnostic-beg it)
                                                                           (flymake-diagnostic-end it))))
                        (flymake-diagnostics)))
         (hover (fx-hover (lambda ()
                            (let ((answer (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover
                                                           (eglot--TextDocumentPositionParams))))
                              (plist-get (plist-get answer :contents) :value)))))
         (actions (progn (fx-place "len(x)")
                         (eglot-code-actions (point) (+ (point) 6) "quickfix"))))
    (eglot--apply-workspace-edit (plist-get (car actions) :edit))
    (eglot--signal-textDocument/didChange)      ; otherwise sent when Emacs is idle, which it never is without a screen
    (fx-wait "the fix to help" (lambda () (flymake-start) (null (flymake-diagnostics))))
    `((diagnostics . ,(vconcat (mapcar #'vconcat found)))
      (hover . ,hover))))

(defun fx-lsp-mode ()
  "Diagnostics, hover, lenses and a fix, as lsp-mode has them."
  (require 'lsp-mode)
  (require 'lsp-lens)
  (setq lsp-auto-guess-root t lsp-enable-file-watchers nil lsp-restart 'ignore lsp-keep-workspace-alive nil
        lsp-session-file (expand-file-name "session" temporary-file-directory))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection #'fx-server)
                    :activation-fn (lsp-activate-on "python")
                    :initialization-options (lambda () (fx-env "FX_OPTIONS"))
                    :server-id 'fx-lsp))
  (lsp-workspace-folders-add default-directory)
  (lsp)
  (fx-wait "diagnostics" #'lsp--get-buffer-diagnostics)
  (let* ((found (mapcar (lambda (it)
                          (let ((range (lsp--range-to-region (lsp:diagnostic-range it))))
                            (list (lsp:diagnostic-code? it) (buffer-substring-no-properties (car range) (cdr range)))))
                        (lsp--get-buffer-diagnostics)))
         (hover (fx-hover (lambda ()
                            (lsp:markup-content-value
                             (lsp:hover-contents
                              (lsp-request "textDocument/hover" (lsp--text-document-position-params))))))))
    (lsp-lens-mode 1)
    (lsp-lens-refresh t)
    (fx-wait "lenses" (lambda () lsp-lens--overlays))
    (let ((lenses (mapcar (lambda (it) (string-trim (substring-no-properties (overlay-get it 'after-string))))
                          lsp-lens--overlays)))
      (fx-place "len(x)")
      (lsp-execute-code-action (car (lsp-code-actions-at-point)))
      (fx-wait "the fix to help" (lambda () (null (lsp--get-buffer-diagnostics))))
      `((diagnostics . ,(vconcat (mapcar #'vconcat found)))
        (hover . ,hover)
        (lenses . ,(vconcat lenses))))))

(let ((seen (condition-case problem
                (progn
                  (find-file (getenv "FX_FILE"))
                  (unless (derived-mode-p 'python-mode) (python-mode))
                  (append (if (equal (getenv "FX_CLIENT") "eglot") (fx-eglot) (fx-lsp-mode))
                          `((fixed . ,(buffer-substring-no-properties (point-min) (point-max))))))
              (error `((problem . ,(error-message-string problem)))))))
  (with-temp-file (getenv "FX_SEEN")
    (set-buffer-file-coding-system 'utf-8)
    (insert (json-encode seen)))
  (set-buffer-modified-p nil)
  (kill-emacs))
